"""Objects of a small cluster, and requests for pods in its namespace."""

from typing import Any

from gpuc.admission.request import Request
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet

NAMESPACE = "team"
_NAMESPACED = ("LimitRange", "ResourceQuota", "ServiceAccount", "ConfigMap", "Secret", "PersistentVolumeClaim")


def manifest(api: str, kind: str, name: str, body: Any = None, **metadata: Any) -> Manifest:
    """Returns an object; the objects of namespaced kinds are in the namespace of the tests."""
    namespace = NAMESPACE if kind in _NAMESPACED else ""
    return Manifest("f.yaml", (), api, kind, name, body or {}, namespace, **metadata)


def objects(*manifests: Manifest, labels: dict[str, str] | None = None, is_complete: bool = True) -> ObjectSet:
    """Returns an object set with a namespace that has the labels."""
    namespace = manifest("v1", "Namespace", NAMESPACE, labels=labels or {})
    return ObjectSet([namespace, *manifests], is_complete=is_complete)


def container(**fields: Any) -> dict[str, Any]:
    """Returns a container."""
    return {"name": "main", "image": "a:1", **fields}


def pod(*containers: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any) -> Request:
    """Returns a request to create a pod, by default with one container."""
    metadata = {"name": "p", "namespace": NAMESPACE, "annotations": annotations or {}}
    body = {"containers": list(containers) or [container()], **spec}
    return Request({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}, "user")
