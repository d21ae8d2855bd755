"""StorageClasses: whether the input shows that a PersistentVolumeClaim gets a volume.

Source: k8s.io/kubernetes v1.35.4 pkg/controller/volume/persistentvolume/pv_controller.go;
pkg/volume/util/storageclass.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.admission.request import Decision
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import STORAGE
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig

_KIND = "StorageClass"
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_WITHOUT = "without a volume, the pod stays Pending"


def storage_decisions(objects: ObjectSet, name: str, spec: Any, field: Path) -> Iterator[Decision]:
    """Yields "unknown" if the input does not show that a PersistentVolumeClaim gets a volume.

    Clusters have StorageClasses that gpuc does not emit, for example those of add-ons. A claim that names its
    PersistentVolume has no decision.

    Args:
        name: the claim in messages.
        spec: the spec of the claim, unvalidated.
        field: the path of the claim's StorageClass in the document of the request; empty if it is not there.
    """
    declared = dig(spec, "storageClassName")
    if dig(spec, "volumeName"):
        return
    if declared == "":
        message = f"{name} has no StorageClass: it needs a PersistentVolume, which gpuc does not select; {_WITHOUT}"
    elif declared is None:
        if any(map(_is_default, objects.of(STORAGE, _KIND))):
            return
        message = f"{name} has no storageClassName, and the input has no default StorageClass; {_WITHOUT}"
    elif objects.find(STORAGE, _KIND, str(declared)) is not None:
        return
    else:
        message = f"StorageClass {declared} of {name} is not in the input; {_WITHOUT}"
    yield Decision("unknown", "StorageClass", message, field=field)


def _is_default(manifest: Manifest) -> bool:
    return any(manifest.annotations.get(key) == "true" for key in _DEFAULT)
