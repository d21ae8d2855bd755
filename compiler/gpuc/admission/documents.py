"""Functions that return the kind, the namespace and the pod of an object in a request."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet, dig, grouped, items
from gpuc.parts.workload_kinds import workload_kind

CONTAINERS = ("initContainers", "containers")
"""The fields of a pod spec with the containers that can have resources, in the order of admission checks."""
ALL_CONTAINERS = (*CONTAINERS, "ephemeralContainers")


class PodPart(Struct, frozen=True):
    """The pod of an object: the object itself if it is a Pod, or else the pod template of a workload."""

    path: Path
    """The path of the pod or pod template in the document; empty for a Pod."""
    metadata: Any
    spec: Any

    def containers(self, fields: tuple[str, ...] = ALL_CONTAINERS) -> Iterator[tuple[Path, Any]]:
        """Yields every container with its path in the document."""
        for field in fields:
            for number, container in items(dig(self.spec, field)):
                yield (*self.path, "spec", field, number), container

    def containers_with_resources(self) -> Iterator[tuple[Path, Any]]:
        """Yields every container that can have resources with its path in the document, init containers last."""
        return self.containers(CONTAINERS[::-1])


def api_group(document: Body) -> str:
    """Returns the API group of an object; the empty string for the core group."""
    return str(document.get("apiVersion") or "").rpartition("/")[0]


def kind(document: Body) -> str:
    """Returns the field `kind` of an object as text; the empty string if the object has no kind."""
    return str(document.get("kind") or "")


def namespace_of(document: Body) -> str:
    """Returns the namespace of an object; the empty string if it has none."""
    return str(dig(document, "metadata", "namespace") or "")


def is_pod(document: Body) -> bool:
    """Returns whether an object is a Pod."""
    return (api_group(document), kind(document)) == ("", "Pod")


def pod_part(document: Body) -> PodPart | None:
    """Returns the pod, or the pod template, of an object of a built-in kind; None for other objects.

    Source: k8s.io/pod-security-admission v0.35.4 admission/admission.go, defaultPodSpecResources and ExtractPodSpec
    """
    record = workload_kind(api_group(document), kind(document))
    if not (record.is_builtin and record.templates):
        return None
    path: Path = tuple(filter(None, record.templates[0].split(".")))
    template = dig(document, *path)
    return PodPart(path, dig(template, "metadata"), dig(template, "spec"))


def container_name(path: Path, container: Any) -> str:
    """Returns the kind and the name of a container in one text, for example "init container setup".

    Args:
        path: the path of the container, for example spec.initContainers.0.
    """
    words = {"initContainers": "init container", "ephemeralContainers": "ephemeral container"}
    return f"{words.get(str(path[-2]), 'container')} {dig(container, 'name') or path[-1]}"


@lru_cache(maxsize=8)
def _by_namespace(objects: ObjectSet, kind: str) -> dict[str, list[Manifest]]:
    return grouped(objects.of("", kind), lambda manifest: manifest.namespace)


def in_namespace(objects: ObjectSet, kind: str, namespace: str) -> list[Manifest]:
    """Returns the objects of a kind in a namespace. The kind must be in the core API group."""
    return _by_namespace(objects, kind).get(namespace, [])
