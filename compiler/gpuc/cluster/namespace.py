"""The namespaces that a set of objects defines or names, and the labels of these namespaces."""

from collections.abc import Mapping
from functools import cached_property

from gpuc.cluster.application import ARGO, applications
from gpuc.cluster.project import Project
from gpuc.kubernetes.selector import LabelIndex
from gpuc.model.cluster import ALWAYS_PLATFORM
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet

ALWAYS = frozenset(ALWAYS_PLATFORM)
"""The namespaces that every cluster has."""


class Namespaces:
    """The namespaces of a set of objects: from Namespace objects, and from the destinations of Applications."""

    def __init__(self, objects: ObjectSet) -> None:
        self._is_complete = objects.is_complete
        found = applications(objects.of(ARGO, "Application"))
        self.labels: dict[str, dict[str, str]] = {name: dict(own) for name, own in objects.namespaces.items()}
        """Labels by namespace, for namespaces with a Namespace object or with labels from an Application."""
        self.has_objects = bool(self.labels)
        """Whether the set contains Namespace objects."""
        self.named = {*ALWAYS, *self.labels, *(application.destination.namespace for application in found)} - {""}
        """The names of all known namespaces."""
        self.created = {*ALWAYS, *self.labels, *(application.created_namespace for application in found)} - {""}
        """The names of the namespaces that certainly exist."""
        for application in found:
            if (name := application.destination.namespace) and application.namespace_labels:
                self.labels.setdefault(name, {NAMESPACE_NAME: name}).update(application.namespace_labels)
        projects = map(Project, objects.of(ARGO, "AppProject"))
        permitted = {row.namespace for project in projects for row in project.destinations if "*" not in row.namespace}
        self.mentioned = self.named | permitted - {""}
        """The names of all known namespaces, and of the destinations of AppProjects."""
        self.keys = {key for own in self.labels.values() for key in own}
        """The keys of all namespace labels."""

    def known_labels(self, name: str) -> Mapping[str, str] | None:
        """Returns the labels of a namespace; None if gpuc does not know them.

        If the objects are complete, a namespace without a Namespace object has only the label with its name. This is
        true for the namespaces that an Application creates, and for the namespaces of every cluster.
        """
        if name in self.labels:
            return self.labels[name]
        return {NAMESPACE_NAME: name} if self._is_complete and name in self.named else None

    def values(self, key: str) -> set[str]:
        """Returns all values that a label has in the namespaces."""
        if key == NAMESPACE_NAME:
            return set(self.mentioned)
        return {own[key] for own in self.labels.values() if key in own}

    @cached_property
    def index(self) -> LabelIndex:
        """An index that finds namespaces by their labels."""
        return LabelIndex({**{name: {NAMESPACE_NAME: name} for name in self.mentioned}, **self.labels})


def namespaces(objects: ObjectSet) -> Namespaces:
    """Returns the namespaces of a set of objects. The objects are read only at the first call."""
    return objects.once(Namespaces)
