"""Making values of what a reader of YAML meets: no tag makes an object, and all is counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flowcompose.runner.manifest.budget import Budget, Flaw, RefusedError
from flowcompose.runner.manifest.marks import Mark
from flowcompose.runner.manifest.scalars import Scalar, resolved
from flowcompose.runner.manifest.sentences import is_hidden
from flowcompose.runner.manifest.yaml_events import events, line_of

Value = Scalar | list["Value"] | dict[str, "Value"]
"""What a document is made of: the values that JSON has."""

Marked = tuple[Value, Mark]

_TAG = "tag:yaml.org,2002:"
_RESOLVED = {f"{_TAG}{name}" for name in ("int", "float", "bool", "null")}
_KNOWN = {None, "!", f"{_TAG}str", f"{_TAG}map", f"{_TAG}seq", *_RESOLVED}
_SURROGATES = range(0xD800, 0xE000)


@dataclass(slots=True)
class Composer:
    """Makes the value of one document."""

    source: Iterator[events.Event]
    budget: Budget = field(default_factory=Budget)
    flaws: list[Flaw] = field(default_factory=list[Flaw])
    _path: list[str | int] = field(default_factory=list[str | int])
    _anchors: dict[str, Marked | None] = field(default_factory=dict[str, Marked | None])

    def value(self, event: events.Event) -> Marked:
        """Make the value that begins with an event.

        Raises:
            RefusedError: It is larger than the limits allow, or holds itself.
        """
        line = line_of(event)
        if isinstance(event, events.AliasEvent):
            return self._aliased(event.anchor, line)
        anchor = event.anchor if isinstance(event, events.NodeEvent) else None
        self.budget.node(len(self._path), line)
        if anchor is None:
            return self._made(event, line)
        self._anchors[anchor] = None  # an alias in it would make it endless
        self.budget.begin(anchor)
        self._anchors[anchor] = made = self._made(event, line)
        self.budget.end(anchor)
        return made

    def _aliased(self, anchor: str | None, line: int) -> Marked:
        self.budget.alias(anchor or "", line)
        if anchor is None or anchor not in self._anchors:
            # In a place for secrets it is one that begins with `*`, and lacks its quotes.
            which = "an alias" if self._is_secret else f"the alias *{anchor}"
            self._flaw(f"{which} names nothing that stands before it", line)
            return None, Mark(line)
        known = self._anchors[anchor]
        if known is None:
            raise RefusedError(f"the alias *{anchor} stands in what it names", line)
        return known[0], Mark(line, known[1].parts)

    def _made(self, event: events.Event, line: int) -> Marked:
        if isinstance(event, events.ScalarEvent):
            self.budget.text(event.value)
            return self._scalar(event, line), Mark(line)
        if isinstance(event, events.SequenceStartEvent):
            self._check_tag(event.tag, line)
            return self._list(line)
        if isinstance(event, events.MappingStartEvent):
            self._check_tag(event.tag, line)
            return self._mapping(line)
        raise RefusedError("a value is missing", line)

    def _scalar(self, event: events.ScalarEvent, line: int) -> Scalar:
        self._check_tag(event.tag, line)
        if any(ord(character) in _SURROGATES for character in event.value):
            self._flaw("half a surrogate pair is no text", line)
            return ""
        if event.tag in _RESOLVED or (event.tag is None and event.implicit[0]):
            return resolved(event.value)
        return event.value

    def _list(self, line: int) -> Marked:
        made: list[Value] = []
        mark = Mark(line)
        while not isinstance(event := next(self.source), events.SequenceEndEvent):
            self._path.append(len(made))
            value, mark.parts[len(made)] = self.value(event)
            self._path.pop()
            made.append(value)
        return made, mark

    def _mapping(self, line: int) -> Marked:
        made: dict[str, Value] = {}
        mark = Mark(line)
        merged: list[tuple[Marked, int]] = []
        while not isinstance(event := next(self.source), events.MappingEndEvent):
            line = line_of(event)
            self._path.append("?")
            key = self.value(event)[0]
            self._path[-1] = key if isinstance(key, str) else "?"
            below = self.value(next(self.source))
            self._path.pop()
            if key == "<<" and isinstance(event, events.ScalarEvent) and event.implicit[0]:
                merged.append((below, line))
            else:
                self._put(key, below, line, made, mark)
        for each, line in merged:
            self._merge(each, line, made, mark)
        return made, mark

    def _put(
        self, key: Value, below: Marked, line: int, made: dict[str, Value], mark: Mark
    ) -> None:
        if not isinstance(key, str):
            self._flaw("a key must be a string: put it in quotes", line)
        elif key in made:
            self._flaw(f"{key!r} stands twice, first on line {mark.parts[key].line}", line, key)
        else:
            made[key] = below[0]
            mark.parts[key] = Mark(line, below[1].parts)

    def _merge(self, below: Marked, line: int, made: dict[str, Value], mark: Mark) -> None:
        value, marks = below
        if isinstance(value, list):
            for index, each in enumerate(value):
                self._merge((each, marks.parts[index]), line, made, mark)
        elif isinstance(value, dict):
            for key in value.keys() - made.keys():
                made[key] = value[key]
                mark.parts[key] = Mark(line, marks.parts[key].parts)
        else:
            self._flaw("`<<` merges mappings only", line)

    def _check_tag(self, tag: str | None, line: int) -> None:
        if tag not in _KNOWN:
            which = "a tag" if self._is_secret else f"the tag {tag!r}"
            self._flaw(f"{which} is not read: documents hold plain values only", line)

    @property
    def _is_secret(self) -> bool:
        return is_hidden(tuple(self._path))

    def _flaw(self, message: str, line: int, key: str | None = None) -> None:
        path = tuple(self._path) if key is None else (*self._path, key)
        self.flaws.append(Flaw(message, line, path))
