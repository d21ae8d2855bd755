"""Checks of volumes and their mounts, as functions, because no row of a table (see table.py) can describe them.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (ValidateVolumes, ValidateVolumeMounts,
ValidateVolumeDevices)
"""

from gpuc.admission.validation.field import Field, Problems, text
from gpuc.objects.object_set import dig, items

_CLAIMS = ("persistentVolumeClaim", "ephemeral")


def _volumes(field: Field) -> dict[str, bool]:
    """Returns the names of a pod's volumes, and whether a volume is a claim, which can be used as a block device."""
    return {
        text(dig(volume, "name")): any(dig(volume, source) is not None for source in _CLAIMS)
        for _, volume in items(field.within("pod").get("volumes"))
    }


def _volume_of_pod(name: Field) -> Problems:
    known = _volumes(name)
    if name.text and name.text not in known:
        yield name.problem(
            f"the pod has no volume {name.text}; known: {', '.join(sorted(filter(None, known))) or 'none'}"
        )


def _mounts(mounts: Field) -> Problems:
    devices = {text(row.get("name")): row.get("devicePath") for row in mounts.within("container").rows("volumeDevices")}
    paths: set[str] = set()
    for mount in mounts.rows():
        name, target = text(mount.get("name")), text(mount.get("mountPath"))
        if target in paths or target in devices.values():
            yield mount.at("mountPath").problem(f"two volumes of the container have the path {target}")
        if name in devices:
            yield mount.at("name").problem(f"the container uses volume {name} as a device and as a mount")
        paths.add(target)


def _devices(devices: Field) -> Problems:
    names: set[str] = set()
    paths: set[str] = set()
    for device in devices.rows():
        name, target = text(device.get("name")), text(device.get("devicePath"))
        if _volumes(device).get(name) is False:
            message = f"volume {name} is no device; expected {' or '.join(_CLAIMS)} as source"
            yield device.at("name").problem(message)
        if name in names or target in paths:
            yield device.problem(f"two devices of the container have the name {name} or the path {target}")
        names.add(name)
        paths.add(target)


def _one_kind_of_source(volume: Field) -> Problems:
    present = [name for name, _ in volume.entries() if name != "name"]
    if len(present) > 1:
        message = f"the volume has the sources {' and '.join(present)}; only one is allowed"
        yield volume.at(present[1]).problem(message)


def _projections(sources: Field) -> Problems:
    paths: set[str] = set()
    for source in sources.rows():
        names = [name for name, _ in source.entries()]
        if len(names) > 1:
            yield source.problem(f"the source has {' and '.join(names)}; only one is allowed")
        for name in ("secret", "configMap", "downwardAPI"):
            for item in source.rows(name, "items"):
                target = text(item.get("path"))
                if target in paths:
                    yield item.at("path").problem(f"two files have the path {target}")
                paths.add(target)


def _metadata_of_claim(metadata: Field) -> Problems:
    for name, field in metadata.entries():
        if name not in ("labels", "annotations"):
            yield field.problem("only labels and annotations are allowed")


def _access_modes(field: Field) -> Problems:
    modes = {text(mode.value) for mode in field.rows()}
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield field.problem("ReadWriteOncePod allows no other access mode")
