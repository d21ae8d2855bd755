"""The namespaces that exist as far as a tree says, and what label selectors find among them."""

from __future__ import annotations

from functools import cached_property

from gpuc.kubernetes.selector import LabelIndex
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, items, labels

ALWAYS = frozenset(("default", "kube-node-lease", "kube-public", "kube-system"))


class Namespaces:
    """Namespaces of a tree: those with an object, and those that an Application brings its objects to."""

    def __init__(self, tree: ObjectSet) -> None:
        self.labels: dict[str, dict[str, str]] = {name: dict(own) for name, own in tree.namespaces.items()}
        """Labels of those that have an object, by name."""
        self.has_objects = bool(self.labels)
        self.named = set(ALWAYS) | set(self.labels)
        """All that exist."""
        for application in tree.of("argoproj.io", "Application"):
            name = dig(application.body, "spec", "destination", "namespace")
            if isinstance(name, str) and name:
                self.named.add(name)
                given = labels(dig(application.body, "spec", "syncPolicy", "managedNamespaceMetadata", "labels"))
                if given:
                    self.labels.setdefault(name, {NAMESPACE_NAME: name}).update(given)
        self.mentioned = self.named | {
            name
            for project in tree.of("argoproj.io", "AppProject")
            for _, each in items(dig(project.body, "spec", "destinations"))
            if isinstance(name := dig(each, "namespace"), str) and "*" not in name
        }
        """Those and the ones that a project may deploy to."""

    def values(self, key: str) -> set[str]:
        """Values that a label has among them."""
        if key == NAMESPACE_NAME:
            return set(self.mentioned)
        return {own[key] for own in self.labels.values() if key in own}

    @cached_property
    def keys(self) -> set[str]:
        """Every label that one of them has."""
        return {key for own in self.labels.values() for key in own}

    @cached_property
    def index(self) -> LabelIndex:
        """All of them by their labels."""
        return LabelIndex({**{name: {NAMESPACE_NAME: name} for name in self.mentioned}, **self.labels})
