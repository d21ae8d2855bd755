"""The namespaces that exist as far as a tree says, and what label selectors find among them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from gpuc.objects.object_set import ObjectSet, dig, items, pairs

NAME: Final = "kubernetes.io/metadata.name"
"""The label that the API server gives every namespace."""
ALWAYS = frozenset(("default", "kube-node-lease", "kube-public", "kube-system"))


class Namespaces:
    """Namespaces of a tree: those with an object, and those that an Application brings its objects to."""

    def __init__(self, tree: ObjectSet) -> None:
        self.labels: dict[str, dict[str, Any]] = {name: dict(labels) for name, labels in tree.namespaces.items()}
        """Labels of those that have an object, by name."""
        self.has_objects = bool(self.labels)
        self.named = set(ALWAYS) | set(self.labels)
        """All that exist."""
        for application in tree.of("argoproj.io", "Application"):
            name = dig(application.body, "spec", "destination", "namespace")
            if isinstance(name, str) and name:
                self.named.add(name)
                given = dig(application.body, "spec", "syncPolicy", "managedNamespaceMetadata", "labels")
                if isinstance(given, dict):
                    self.labels.setdefault(name, {NAME: name}).update(given)
        self.mentioned = self.named | {
            name
            for project in tree.of("argoproj.io", "AppProject")
            for _, each in items(dig(project.body, "spec", "destinations"))
            if isinstance(name := dig(each, "namespace"), str) and "*" not in name
        }
        """Those and the ones that a project may deploy to."""

    def values(self, key: str) -> set[str]:
        """Values that a label has among them."""
        if key == NAME:
            return set(self.mentioned)
        return {labels[key] for labels in self.labels.values() if isinstance(labels.get(key), str)}

    @cached_property
    def keys(self) -> set[str]:
        """Every label that one of them has."""
        return {key for labels in self.labels.values() for key in labels}

    @cached_property
    def _all(self) -> list[Mapping[str, Any]]:
        named = [{NAME: name} for name in sorted(self.mentioned - set(self.labels))]
        return [*self.labels.values(), *named]

    @cached_property
    def _by_label(self) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
        found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for labels in self._all:
            for key, value in labels.items():
                found.setdefault((key, str(value)), []).append(labels)
        return found

    def selected(self, selector: Any) -> bool:
        """Whether a label selector finds one of them."""
        first = next(pairs(dig(selector, "matchLabels")), None)
        some = self._all if first is None else self._by_label.get((first[0], str(first[1])), [])
        return any(matches(selector, labels) for labels in some)


def matches(selector: Any, labels: Mapping[str, Any]) -> bool:
    """Whether a label selector takes an object with these labels; a selector that says nothing takes all."""
    if any(labels.get(key) != value for key, value in pairs(dig(selector, "matchLabels"))):
        return False
    for _, each in items(dig(selector, "matchExpressions")):
        value, values = labels.get(str(dig(each, "key"))), dig(each, "values")
        values = values if isinstance(values, list) else []
        has = {
            "In": value is not None and value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }
        if not has.get(str(dig(each, "operator")), True):
            return False
    return True
