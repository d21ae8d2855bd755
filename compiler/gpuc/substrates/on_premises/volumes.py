"""The objects of the volumes of namespaces: a PersistentVolume and a PersistentVolumeClaim for each volume."""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.emit.sync import protected
from gpuc.kubernetes.amounts import EPHEMERAL_STORAGE, quantity_text
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Namespace, Tenant
from gpuc.parts.folders import table_beside
from gpuc.substrates.on_premises.section import existing
from gpuc.substrates.on_premises.share_section import Csi, Share, Volume

_drivers = cache(lambda: table_beside(__file__))


class Mounted(NamedTuple):
    """A volume of a namespace, together with the share (an existing file system) that contains its files."""

    tenant: Tenant
    namespace: Namespace
    claim: str
    spec: Volume
    share: Share

    @property
    def path(self) -> Path:
        return (*self.namespace.path, "volumes", self.claim)

    @property
    def name(self) -> str:
        """The name of the PersistentVolume: namespace.claim. Neither part contains a dot, so each name is unique."""
        return f"{self.namespace.name}.{self.claim}"

    @property
    def folder(self) -> str:
        """The absolute path of the folder on the storage system that the volume shows, without a slash at the end."""
        base = self.share.nfs.path if self.share.nfs else root_of(self.share.csi)
        return base.rstrip("/") + (f"/{self.spec.path}" if self.spec.path else "")


def driver(csi: Csi | None) -> dict[str, Any]:
    """Returns what gpuc knows about the CSI driver of a share; an empty map for other drivers."""
    name = csi.driver if csi else ""
    # Rook writes its namespace before the name of the driver.
    return next((row for known, row in _drivers().items() if name == known or name.endswith(f".{known}")), {})


def root_of(csi: Csi | None) -> str:
    """Returns the folder of the file system that is the root of a share; empty for the root of the file system."""
    return csi.attributes.get(driver(csi).get("folderAttribute", ""), "") if csi else ""


def mounted(cluster: Cluster) -> Iterator[Mounted]:
    """Yields the volumes of all namespaces, in the order of the spec. A volume of an unknown share is left out."""
    shares = existing(cluster.spec.cloud).shares
    for tenant, namespace in cluster.namespaces:
        for claim, spec in namespace.spec.volumes.items():
            if spec.share in shares:
                yield Mounted(tenant, namespace, claim, spec, shares[spec.share])


def volumes(cluster: Cluster) -> Iterator[Manifest]:
    """Yields a PersistentVolume and a PersistentVolumeClaim for each volume, with annotations against pruning.

    Without these objects, programs would not find their data. The field claimRef prevents that a claim of another
    namespace uses the volume. Argo CD applies the claims after all other objects of the tenants, because a claim is
    healthy only when the claim is bound.
    """
    for volume in mounted(cluster):
        # The name of a tenant contains no dot, so that no other file of a tenant has this path.
        file = cluster.out(f"tenants/{volume.tenant.name}.volumes.yaml")
        size = quantity_text(EPHEMERAL_STORAGE, volume.share.size)
        modes = ["ReadOnlyMany" if volume.spec.read_only else "ReadWriteMany"]
        spec: Body = {
            "accessModes": modes,
            "capacity": {"storage": size},
            "claimRef": {"namespace": volume.namespace.name, "name": volume.claim},
            "persistentVolumeReclaimPolicy": "Retain",
            **_source(volume),
        }
        annotations, body = protected(cluster, 0), {"spec": spec}
        yield Manifest(file, volume.path, "v1", "PersistentVolume", volume.name, body, annotations=annotations)
        resources = {"requests": {"storage": size}}
        spec = {"accessModes": modes, "resources": resources, "storageClassName": "", "volumeName": volume.name}
        yield Manifest(
            file, volume.path, "v1", "PersistentVolumeClaim", volume.claim, {"spec": spec}, volume.namespace.name,
            annotations=protected(cluster, 3),
        )  # fmt: skip


def _source(volume: Mounted) -> Body:
    """Returns the fields of a PersistentVolume about its share."""
    share, read_only = volume.share, {"readOnly": True} if volume.spec.read_only else {}
    options, known = [*share.options], driver(share.csi)
    if volume.spec.path and "folderOption" in known:
        options.append(f"{known['folderOption']}=/{volume.spec.path}")
    mount = {"mountOptions": options} if options else {}
    if share.nfs:
        return {**mount, "nfs": {"server": share.nfs.server, "path": volume.folder or "/", **read_only}}
    csi = share.csi
    assert csi is not None, "a share has nfs or csi"
    attributes = csi.attributes | known.get("fixed", {})
    if "folderAttribute" in known:
        attributes[known["folderAttribute"]] = volume.folder or "/"
    secrets = {"nodeStageSecretRef": csi.stage_secret, "nodePublishSecretRef": csi.publish_secret}
    source: Body = {"driver": csi.driver, "volumeHandle": csi.handle or volume.name, **read_only}
    source |= {"fsType": known["fsType"]} if "fsType" in known else {}
    source |= {"volumeAttributes": attributes} if attributes else {}
    for field, secret in secrets.items():
        if secret:
            namespace, name = secret.split("/")
            source[field] = {"name": name, "namespace": namespace}
    return {**mount, "csi": source}
