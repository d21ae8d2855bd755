"""The sections of the spec for shares (file systems that exist), and for volumes of namespaces on the shares."""

from typing import Annotated, ClassVar

from pydantic import Field

from gpuc.spec.base import Bytes, Name, OneOf, SpecModel, TextLine
from gpuc.spec.form import Form

_PART = "[A-Za-z0-9_][A-Za-z0-9._-]*"
_DNS = "[a-z0-9]([a-z0-9.-]*[a-z0-9])?"
Folder = Annotated[
    str,
    Form(rf"^{_PART}(/{_PART})*$", "a folder below the share such as team-a/data", lambda text: text.strip("/")),
    Field(max_length=255),
]
Exported = Annotated[
    str,
    Form(rf"^/({_PART}(/{_PART})*)?$", "an absolute path such as /export/home", lambda text: f"/{text.strip('/')}"),
    Field(max_length=255),
]
MountOption = Annotated[str, Form(r"^[^\s,]+$", "one mount option such as nfsvers=4.1")]
SecretName = Annotated[str, Form(f"^{_DNS}/{_DNS}$", "namespace/name of a Secret, for example storage/ceph")]


class Nfs(SpecModel):
    """An export of an NFS server. The kubelet mounts it; the nodes need the NFS client of their operating system."""

    in_messages: ClassVar[str] = "{server: nfs1.example.com, path: /export/home}"

    server: Annotated[str, Form(r"^[A-Za-z0-9.:-]+$", "the name or address of a server such as nfs1.example.com")]
    """The name or the address of the server, as the nodes know it."""

    path: Exported
    """The exported path, for example /export/home."""


class Csi(SpecModel):
    """A file system that a CSI driver mounts, for example CephFS, JuiceFS or Lustre. gpuc does not install the driver.

    gpuc checks the keys that cephfs.csi.ceph.com, csi.juicefs.com and lustre-csi.hpe.com need. For other drivers, gpuc
    copies the keys without a check.
    """

    in_messages: ClassVar[str] = "{driver: csi.juicefs.com, publishSecret: storage/juicefs}"

    driver: Annotated[str, Form(f"^{_DNS}$", "the name of a driver such as csi.juicefs.com"), Field(max_length=63)]
    """The name of the driver, as in `kubectl get csidrivers`."""

    handle: TextLine | None = None
    """The volumeHandle of drivers that read it: for lustre-csi.hpe.com the file system such as 10.1.1.1@tcp:/fs1. Then
    one volume can use the share, because a handle identifies a volume. Default: the name of the PersistentVolume."""

    attributes: dict[Annotated[str, Form(r"^[\w./-]+$", "the name of a volume attribute")], TextLine] = {}
    """The volumeAttributes of the driver: for CephFS clusterID, fsName and rootPath."""

    stage_secret: SecretName | None = None
    """The Secret with the credentials of the mount on a node (nodeStageSecretRef), as CephFS needs it."""

    publish_secret: SecretName | None = None
    """The Secret with the credentials of the mount in a pod (nodePublishSecretRef), as JuiceFS needs it."""


class Share(OneOf):
    """A file system that exists and that namespaces can mount. gpuc never creates, empties or deletes a share."""

    in_messages: ClassVar[str] = "{nfs: {server: nfs1.example.com, path: /export/home}, size: 20Ti}"
    one_of: ClassVar[tuple[str, ...]] = ("nfs", "csi")

    nfs: Nfs | None = None
    """An export of an NFS server."""

    csi: Csi | None = None
    """A file system that a CSI driver mounts."""

    size: Bytes
    """The size of the share: the capacity of its volumes. Only the storage system limits what they can contain."""

    options: list[MountOption] = []
    """The mount options, for example nfsvers=4.1 and hard."""


class Volume(SpecModel):
    """A volume of a namespace: a complete share, or one folder of a share."""

    in_messages: ClassVar[str] = "{share: home, path: team-a}"

    share: Name
    """A share of `cloud.onPremises.shares`."""

    path: Folder | None = None
    """The folder of the share. It must exist; JuiceFS creates it. Default: the complete share."""

    read_only: bool = False
    """Whether pods can only read the volume."""


class NamespaceVolumes(SpecModel):
    """The volumes of a namespace, which show shares: file systems that exist already."""

    volumes: dict[Name, Volume] = {}
    """Volumes by the name of their PersistentVolumeClaim, which pods name in `persistentVolumeClaim.claimName`. Only
    for clusters with `cloud.onPremises`.

    gpuc writes a PersistentVolume for each claim. Nodes mount it, and no NetworkPolicy applies to it. With the policy
    host-access at deny, or the Pod Security level restricted, pods can mount NFS exports only through claims.
    """
