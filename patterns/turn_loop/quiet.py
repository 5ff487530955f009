"""Work that nobody hears: a referee's, a selector's, and what is asked for a decision."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.constants import TAG_NOSTREAM

from flowcompose.core.stream import UNHEARD


def quiet(config: RunnableConfig) -> RunnableConfig:
    """The config for what works unheard.

    The engine streams no tokens with this tag, but for those of graphs, which have nodes of their
    own; these inherit the metadata, by which events leave them out.
    """
    metadata = {**(config.get("metadata") or {}), UNHEARD: True}
    return {**config, "tags": [*(config.get("tags") or []), TAG_NOSTREAM], "metadata": metadata}


@contextmanager
def unheard(config: RunnableConfig) -> Generator[None]:
    """Let functions that are asked for a decision call models without anybody hearing it.

    One that passes no config finds this one, as any Runnable does.
    """
    token = var_child_runnable_config.set(quiet(config))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
