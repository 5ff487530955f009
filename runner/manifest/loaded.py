"""The documents that were loaded, found by name and by label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from flowcompose.runner.manifest.documents import DEFAULT_NAMESPACE, Document
from flowcompose.runner.manifest.kinds.query import QuerySpec, TargetSpec
from flowcompose.runner.manifest.kinds.values import LabelSelector, Requirement

_SELECTABLE = {"Agent": "agent", "Team": "team", "Model": "model", "Tool": "tool"}


class Loaded:
    """Documents, and where to find each."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents = tuple(documents)
        self._named: defaultdict[tuple[str, str], list[Document]] = defaultdict(list)
        for document in self.documents:
            self._named[document.kind, document.name].append(document)

    def find(self, kind: str, name: str, namespace: str | None = None) -> Document | None:
        """Give the document of a kind and name.

        That of the namespace comes first. One that states no namespace belongs to any: it is the
        command that applies it which says where.
        """
        named = self._named.get((kind, name), [])
        if namespace is None or namespace == DEFAULT_NAMESPACE:
            ranked = sorted(named, key=lambda each: each.namespace != DEFAULT_NAMESPACE)
        else:
            fitting = [each for each in named if each.namespace in (namespace, DEFAULT_NAMESPACE)]
            ranked = sorted(fitting, key=lambda each: each.namespace != namespace)
        return ranked[0] if ranked else None

    def all_named(self, kind: str, name: str) -> list[Document]:
        """Give all of a kind that bear a name, in whichever namespace."""
        return list(self._named.get((kind, name), ()))

    def of_kind(self, kind: str) -> list[Document]:
        """Give all of a kind, in order."""
        return [document for document in self.documents if document.kind == kind]

    def fitting(self, kind: str, selector: LabelSelector, referrer: Document) -> list[Document]:
        """Give all of a kind whose labels are asked for, of the namespace that asks."""
        near = (referrer.namespace, DEFAULT_NAMESPACE)
        return [
            each
            for each in self.of_kind(kind)
            if (each.namespace in near or referrer.namespace == DEFAULT_NAMESPACE)
            and fits(selector, each.labels)
        ]

    def targets_of(self, query: Document) -> tuple[TargetSpec, ...]:
        """Give who is asked by a query: those it names, then those its selector fits."""
        spec = query.spec
        if not isinstance(spec, QuerySpec):
            return ()
        selected = self._selected(spec.selector, query) if spec.selector else ()
        return tuple(dict.fromkeys((*spec.all_targets, *selected)))

    def _selected(self, selector: LabelSelector, query: Document) -> Iterable[TargetSpec]:
        for kind, kind_of_target in _SELECTABLE.items():
            for document in self.fitting(kind, selector, query):
                yield TargetSpec(type=kind_of_target, name=document.name)


def fits(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
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
