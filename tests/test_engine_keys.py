"""What is private to the engine and built on all the same: here a new version of it is caught."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph._internal import _constants
from langgraph.checkpoint.memory import InMemorySaver

from flowcompose import Flow
from flowcompose.core.saving import CHECKPOINTER, DURABILITY


def test_the_engine_hands_down_its_checkpointer_and_durability_under_these_keys() -> None:
    assert CHECKPOINTER == _constants.CONFIG_KEY_CHECKPOINTER
    assert DURABILITY == _constants.CONFIG_KEY_DURABILITY


class Overtaken(InMemorySaver):
    """Notices when a checkpoint is stored before the writes that led to it."""

    def __init__(self) -> None:
        super().__init__()
        self.noticed: list[bool] = []
        self.stored: defaultdict[str, threading.Event] = defaultdict(threading.Event)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        if "__start__" not in task_path:  # the input is nothing that a step wrote
            self.noticed.append(self.stored[_id(config)].wait(0.1))
        super().put_writes(config, writes, task_id, task_path)

    def put(
        self, config: RunnableConfig, checkpoint: Any, metadata: Any, new_versions: Any
    ) -> RunnableConfig:
        self.stored[_id(config)].set()
        return super().put(config, checkpoint, metadata, new_versions)


def _id(config: RunnableConfig) -> str:
    return str((config.get("configurable") or {}).get("checkpoint_id", ""))


def test_the_engine_stores_what_a_step_wrote_before_the_checkpoint_after_it() -> None:
    saver = Overtaken()
    flow = Flow("f").step(lambda v: v + 1, name="a").step(lambda v: v + 1, name="b")
    assert flow.compile(checkpointer=saver).run(1).output == 3
    assert saver.noticed == [False] * 3  # the opening of the run, and both steps
