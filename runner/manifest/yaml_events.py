"""The reader of YAML that is there: the fast one, where PyYAML was built with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

try:
    import yaml
    from yaml import events
    from yaml.error import MarkedYAMLError, YAMLError
except ModuleNotFoundError as error:
    msg = "documents need PyYAML: pip install 'flowcompose[cli]'"
    raise ImportError(msg) from error

if TYPE_CHECKING:
    from yaml import SafeLoader as Loader
else:
    Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

__all__ = ["MarkedYAMLError", "YAMLError", "events", "events_of", "line_of"]


def line_of(event: events.Event) -> int:
    """Give the line on which it begins, counted from 1."""
    return event.start_mark.line + 1 if event.start_mark else 1


def events_of(text: str) -> Iterator[events.Event]:
    """Give what a reader meets, one after the other; nothing is made of it.

    Raises:
        YAMLError: The text is no YAML.
    """
    yield from yaml.parse(text, Loader=Loader)
