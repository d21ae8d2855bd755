"""The known namespaces, and their labels."""

from __future__ import annotations

from functools import cached_property

from gpuc.kubernetes.selector import LabelIndex
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, items, labels

ALWAYS = frozenset(("default", "kube-node-lease", "kube-public", "kube-system"))
"""The namespaces that every cluster has."""


class Namespaces:
    """The namespaces of an object set: of Namespace objects, and of the destinations of Applications."""

    def __init__(self, objects: ObjectSet) -> None:
        self.labels: dict[str, dict[str, str]] = {name: dict(own) for name, own in objects.namespaces.items()}
        """Labels by namespace, for namespaces with a Namespace object or with labels from an Application."""
        self.has_objects = bool(self.labels)
        """Whether the set contains Namespace objects."""
        self.named = set(ALWAYS) | set(self.labels)
        """The names of all known namespaces."""
        for application in objects.of("argoproj.io", "Application"):
            name = dig(application.body, "spec", "destination", "namespace")
            if isinstance(name, str) and name:
                self.named.add(name)
                managed = labels(dig(application.body, "spec", "syncPolicy", "managedNamespaceMetadata", "labels"))
                if managed:
                    self.labels.setdefault(name, {NAMESPACE_NAME: name}).update(managed)
        self.mentioned = self.named | {
            name
            for project in objects.of("argoproj.io", "AppProject")
            for _, destination in items(dig(project.body, "spec", "destinations"))
            if isinstance(name := dig(destination, "namespace"), str) and "*" not in name
        }
        """The names of all known namespaces, and of the destinations of AppProjects."""

    def values(self, key: str) -> set[str]:
        """Returns the values that a label has in any namespace."""
        if key == NAMESPACE_NAME:
            return set(self.mentioned)
        return {own[key] for own in self.labels.values() if key in own}

    @cached_property
    def keys(self) -> set[str]:
        """The keys of all namespace labels."""
        return {key for own in self.labels.values() for key in own}

    @cached_property
    def index(self) -> LabelIndex:
        """The namespaces, indexed by their labels."""
        return LabelIndex({**{name: {NAMESPACE_NAME: name} for name in self.mentioned}, **self.labels})
