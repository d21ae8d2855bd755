"""The pod templates of objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.pod_template import TEMPLATES
from gpuc.kubernetes.selector import Selector
from gpuc.kubernetes.toleration import Toleration
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items, labels, pairs
from gpuc.objects.paths import pattern, places
from gpuc.objects.selectors import node_terms, tolerations

JOB_NAME = ("job-name", "batch.kubernetes.io/job-name")
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"


class Pods(NamedTuple):
    """The pods of one pod template."""

    manifest: Manifest
    path: Path
    """The path of the template in the object."""
    template: Any

    @property
    def spec(self) -> Any:
        """The spec of the pods, unvalidated."""
        return dig(self.template, "spec")

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the pods, without labels whose values only the controller knows."""
        return {**labels(dig(self.template, "metadata", "labels")), **self._controller_labels}

    @property
    def terms(self) -> tuple[Selector, ...]:
        """The node selector terms; a node has to match one of them."""
        return node_terms(self.spec)

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """The tolerations of the pods."""
        return tolerations(dig(self.spec, "tolerations"))

    @property
    def _controller_labels(self) -> dict[str, str]:
        """The labels that the controller adds and whose values follow from the object.

        Source: kubernetes v1.35 pkg/registry/batch/job/strategy.go; jobset v0.12 pkg/controllers/jobset_controller.go
        """
        match group(self.manifest), self.manifest.kind:
            case "batch", "Job":
                return dict.fromkeys(JOB_NAME, self.manifest.name)
            case "jobset.x-k8s.io", "JobSet":
                part = dig(self.manifest.body, *self.path[:3], "name")
                return {JOBSET_NAME: self.manifest.name} | ({REPLICATED_JOB: part} if isinstance(part, str) else {})
        return {}

    def containers(self) -> Iterator[tuple[Path, Any]]:
        """Yields all containers with their paths in the object."""
        for where in ("initContainers", "containers"):
            for number, container in items(dig(self.spec, where)):
                yield (*self.path, "spec", where, number), container

    def resources(self) -> Iterator[tuple[Path, str]]:
        """Yields the names of all requested resources, with their paths in the object."""
        for path, container in self.containers():
            for part in ("limits", "requests"):
                for name, _ in pairs(dig(container, "resources", part)):
                    yield (*path, "resources", part, name), name

    @property
    def wants_devices(self) -> bool:
        """Whether the pods request extended resources such as GPUs."""
        return any("/" in name for _, name in self.resources())


_PLACES = {kind: tuple(pattern(where) for where in places) for kind, places in TEMPLATES.items()}


def pods_of(manifest: Manifest) -> Iterator[Pods]:
    """Yields the pod templates of an object."""
    for steps in _PLACES.get("/".join(filter(None, (group(manifest), manifest.kind))), ()):
        for path, template in places(manifest.document(), steps):
            if isinstance(template, dict):
                yield Pods(manifest, path, template)


def pods(objects: ObjectSet) -> Iterator[Pods]:
    """Yields all pod templates, in the order of the objects."""
    return (found for manifest in objects.manifests for found in pods_of(manifest))
