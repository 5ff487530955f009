"""The documents that were loaded, found by name and by label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from flowcompose.runner.manifest.documents import DEFAULT_NAMESPACE, Document
from flowcompose.runner.manifest.kinds.query import QuerySpec, TargetSpec
from flowcompose.runner.manifest.kinds.team import MemberSpec
from flowcompose.runner.manifest.kinds.values import LabelSelector, Requirement

_SELECTABLE = {"Agent": "agent", "Team": "team", "Model": "model", "Tool": "tool"}


class Loaded:
    """Documents, and where to find each."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents = tuple(documents)
        self._kinds: defaultdict[str, list[Document]] = defaultdict(list)
        self._named: defaultdict[tuple[str, str], dict[str, Document]] = defaultdict(dict)
        self._labelled: defaultdict[tuple[str, str, str], list[Document]] = defaultdict(list)
        for document in self.documents:
            for label in document.labels.items():
                self._labelled[document.kind, *label].append(document)
            self._kinds[document.kind].append(document)
            self._named[document.kind, document.name].setdefault(document.namespace, document)

    def find(self, kind: str, name: str, namespace: str | None = None) -> Document | None:
        """Give the document of a kind and name.

        That of the namespace comes first. One that states no namespace belongs to any: it is the
        command that applies it which says where. So a document without one finds those of others
        too, if there is no choice; and no namespace at all stands for any.
        """
        named = self._named.get((kind, name), {})
        own = named.get(namespace or DEFAULT_NAMESPACE) or named.get(DEFAULT_NAMESPACE)
        if own or not named or namespace not in (None, DEFAULT_NAMESPACE):
            return own
        return next(iter(named.values())) if namespace is None or len(named) == 1 else None

    def namespaces_of(self, kind: str, name: str) -> list[str]:
        """Give the namespaces in which a kind and name stand."""
        return list(self._named.get((kind, name), ()))

    def type_of(self, member: MemberSpec, namespace: str) -> str:
        """Give the type of a member: the one it says or, without that, of what is loaded."""
        if member.type is not None:
            return member.type
        is_agent = self.find("Agent", member.name, namespace)
        is_team = self.find("Team", member.name, namespace)
        return "team" if is_team and not is_agent else "agent"

    def of_kind(self, kind: str) -> list[Document]:
        """Give all of a kind, in order."""
        return list(self._kinds.get(kind, ()))

    def fitting(self, kind: str, selector: LabelSelector, referrer: Document) -> Iterator[Document]:
        """Give all of a kind whose labels are asked for, if they are found by name as well.

        One after the other: to know whether there are any, not all need be looked at.
        """
        label = next(iter(selector.match_labels.items()), None)
        bearing = self._labelled.get((kind, *label), ()) if label else self._kinds.get(kind, ())
        for each in bearing:
            found = self.find(kind, each.name, referrer.namespace)
            if found is each and _fits(selector, each.labels):
                yield each

    def targets_of(self, query: Document) -> tuple[TargetSpec, ...]:
        """Give who is asked by a query: those it names, then those its selector fits.

        Whom it names and selects is asked for both, as a controller of ARK does it.
        """
        spec = query.spec
        if not isinstance(spec, QuerySpec):
            return ()
        selected = (
            TargetSpec(type=_SELECTABLE[document.kind], name=document.name)
            for document in (self.selected(spec.selector, query) if spec.selector else ())
        )
        return (*spec.all_targets, *selected)

    def selected(self, selector: LabelSelector, query: Document) -> Iterator[Document]:
        """Give whom a query asks by labels, one after the other."""
        for kind in _SELECTABLE:
            yield from self.fitting(kind, selector, query)


def _fits(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Tell whether labels are those that a selector asks for."""
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        _holds(each, labels) for each in selector.match_expressions
    )


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
