"""Finds the pod templates in objects, such as the template of a Job."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.kubernetes.selector import Selector
from gpuc.kubernetes.toleration import Toleration
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items, labels, pairs
from gpuc.objects.paths import matching_values, pattern
from gpuc.objects.selectors import node_terms, tolerations
from gpuc.parts.workload_kind import WorkloadKind
from gpuc.parts.workload_kinds import workload_kind

CONFIG_MAPS = (
    "spec.volumes[].configMap.name",
    "spec.volumes[].projected.sources[].configMap.name",
    *(
        f"spec.{containers}[].{field}.name"
        for containers in ("containers", "initContainers")
        for field in ("envFrom[].configMapRef", "env[].valueFrom.configMapKeyRef")
    ),
)
"""The fields of a pod template that name ConfigMaps, as patterns of compiler/gpuc/objects/paths.py."""


class Pods(Struct, frozen=True):
    """The pods that a controller creates from one pod template."""

    manifest: Manifest
    path: Path
    """The path of the template in the object."""
    template: Any
    """The pod template, with metadata and spec, unvalidated."""

    @property
    def record(self) -> WorkloadKind:
        """What gpuc knows about the kind of the object that contains the pod template."""
        return workload_kind(group(self.manifest), self.manifest.kind)

    @property
    def spec(self) -> Any:
        """The spec of the pods, unvalidated."""
        return dig(self.template, "spec")

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the pods. Labels that the controller chooses only when it creates a pod are not included."""
        document = self.manifest.document()
        added = {key: value(document, self.path) for key, value in self.record.labels.known.items()}
        return {**labels(dig(self.template, "metadata", "labels")), **labels(added)}

    @property
    def terms(self) -> tuple[Selector, ...]:
        """The node selector terms of the pods. A node must match at least one of the terms."""
        return node_terms(self.spec)

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """The tolerations of the pods."""
        return tolerations(dig(self.spec, "tolerations"))

    def containers(self) -> Iterator[tuple[Path, Any]]:
        """Yields the path in the object and the container, for all containers. Init containers come first."""
        for field in ("initContainers", "containers"):
            for number, container in items(dig(self.spec, field)):
                yield (*self.path, "spec", field, number), container

    def resources(self) -> Iterator[tuple[Path, str]]:
        """Yields the path in the object and the name of every resource in limits and requests of the containers."""
        for path, container in self.containers():
            for field in ("limits", "requests"):
                for name, _ in pairs(dig(container, "resources", field)):
                    yield (*path, "resources", field, name), name

    @property
    def queue(self) -> str:
        """The LocalQueue in a label of the pods or of their object; an empty text if the pods do not use Kueue."""
        document = self.manifest.document()
        own = (dig(document, *path) for path in self.record.queueing.labels)
        names = (labels(source).get(QUEUE_LABEL) for source in (self.labels, self.manifest.labels, *own))
        return next(filter(None, names), "")

    @property
    def wants_devices(self) -> bool:
        """Whether the pods request extended resources, for example GPUs."""
        return any("/" in name for _, name in self.resources())


def pods_of(manifest: Manifest) -> Iterator[Pods]:
    """Yields a Pods for every pod template in an object."""
    for text in workload_kind(group(manifest), manifest.kind).templates:
        for path, template in matching_values(manifest.document(), pattern(text)):
            if isinstance(template, dict):
                yield Pods(manifest, path, template)


def pods(objects: ObjectSet) -> Iterator[Pods]:
    """Yields a Pods for every pod template in a set of objects, in the order of the objects."""
    return (item for manifest in objects.manifests for item in pods_of(manifest))
