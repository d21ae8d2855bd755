"""Rules about shares of storage systems, and about the volumes of namespaces on the shares."""

from collections.abc import Iterator
from itertools import combinations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.diagnostics.spelling import nearest, write
from gpuc.model import Cluster
from gpuc.objects.object_set import grouped
from gpuc.rules import Findings, Found, rule
from gpuc.substrates.on_premises.section import SECTIONS, existing
from gpuc.substrates.on_premises.volumes import Mounted, driver, mounted

SHARES = ("spec", "cloud", SECTIONS.name, "shares")


@rule("NOD030")
def unknown_share(cluster: Cluster) -> Findings:
    """A volume of a namespace names a share that does not exist."""
    shares = existing(cluster.spec.cloud).shares
    for _, namespace in cluster.namespaces:
        for claim, volume in namespace.spec.volumes.items():
            if volume.share not in shares:
                expected = f"expected one of {', '.join(shares)}" if shares else "cloud.onPremises has no shares"
                message = f'volume {claim} names share "{volume.share}", which does not exist; {expected}'
                yield Found((*namespace.path, "volumes", claim, "share"), message, write(nearest(volume.share, shares)))


@rule("NOD031")
def folder_of_unknown_driver(cluster: Cluster) -> Findings:
    """A volume is a folder of a share, but gpuc does not know how the CSI driver of the share mounts folders."""
    for volume in mounted(cluster):
        if volume.share.csi and volume.spec.path and not _mounts_folders(volume):
            actual = (
                f"volume {volume.claim} has path, but gpuc does not know how {volume.share.csi.driver} mounts folders"
            )
            message = f"{actual}; expected no path, and a share whose attributes or handle name the folder"
            yield Found((*volume.path, "path"), message, on_key=True)


@rule("NOD032")
def driver_lacks_key(cluster: Cluster) -> Findings:
    """A share lacks an attribute or a Secret that its CSI driver needs."""
    for name, share in existing(cluster.spec.cloud).shares.items():
        if share.csi is None:
            continue
        keys = {"handle": share.csi.handle, "stageSecret": share.csi.stage_secret}
        keys |= {"publishSecret": share.csi.publish_secret}
        keys |= {f"attributes.{key}": value for key, value in share.csi.attributes.items()}
        if lacking := [key for key in driver(share.csi).get("needs", ()) if not keys.get(key)]:
            message = f"share {name} has no {', '.join(lacking)}, which {share.csi.driver} needs for static volumes"
            yield Found((*SHARES, name, "csi"), message, on_key=True)


@rule("NOD033")
def handle_of_two_volumes(cluster: Cluster) -> Findings:
    """Two volumes use a share that sets `handle`, so both volumes have the same volumeHandle."""
    first: dict[str, Mounted] = {}
    for volume in mounted(cluster):
        if volume.share.csi and volume.share.csi.handle:
            other = first.setdefault(f"{volume.share.csi.driver} {volume.share.csi.handle}", volume)
            if other is not volume:
                message = (
                    f"volume {volume.claim} has the volumeHandle of volume {other.claim} of {other.namespace.name}"
                )
                related = [Related(f"volume {other.claim} of {other.namespace.name}", other.path, on_key=True)]
                yield Found(volume.path, f"{message}; expected one volume of each share", related=related, on_key=True)


@rule("NOD034")
def share_of_two_tenants(cluster: Cluster) -> Findings:
    """A volume without a folder shows the complete share, and another tenant has a volume of its files."""
    for volume, other in _common_files(cluster):
        if complete := [row for row in (volume, other) if _is_complete(row)]:
            row = complete[0]
            actual = f"volume {row.claim} of tenant {row.tenant.name} has no path, so that it shows the complete share"
            second = other if row is volume else volume
            words = f"volume {second.claim} of tenant {second.tenant.name}"
            message = f"{actual} {row.spec.share}, with the files of {words}; expected a folder for each tenant"
            related = [Related(words, second.path, on_key=True)]
            yield Found(row.path, message, f"write path: {row.tenant.name}", related, on_key=True)


@rule("NOD130", Severity.WARNING)
def folder_of_two_tenants(cluster: Cluster) -> Findings:
    """Volumes of two tenants show the same files, and pods can write to these files."""
    for second, first in _common_files(cluster):
        if not (_is_complete(first) or _is_complete(second)):
            shows = (
                f"volume {second.claim} of tenant {second.tenant.name} shows files of volume {first.claim} of tenant"
            )
            message = f"{shows} {first.tenant.name}: each can read the files of the other, and only user ids limit it"
            related = [Related(f"volume {first.claim} of tenant {first.tenant.name}", first.path, on_key=True)]
            expected = "expected a folder for each tenant, or readOnly for both"
            yield Found(second.path, f"{message}; {expected}", related=related, on_key=True)


def _mounts_folders(volume: Mounted) -> bool:
    """Returns whether gpuc knows how a folder of the share is mounted."""
    return volume.share.csi is None or bool({"folderAttribute", "folderOption"} & {*driver(volume.share.csi)})


def _is_complete(volume: Mounted) -> bool:
    """Returns whether a volume shows a complete share, and could show a folder."""
    return _mounts_folders(volume) and not volume.spec.path


def _common_files(cluster: Cluster) -> Iterator[tuple[Mounted, Mounted]]:
    """Yields the first two volumes of two tenants that show the same files, unless pods can only read both."""
    reported = set()
    for volumes in grouped(mounted(cluster), _source).values():
        for first, second in combinations(volumes, 2):
            if first.tenant is second.tenant or (first.spec.read_only and second.spec.read_only):
                continue
            inner, outer = sorted((f"{first.folder}/", f"{second.folder}/"), key=len, reverse=True)
            if inner.startswith(outer) and (first.tenant.name, second.tenant.name) not in reported:
                reported.add((first.tenant.name, second.tenant.name))
                yield second, first


@rule("NOD131", Severity.WARNING)
def unused_share(cluster: Cluster) -> Findings:
    """The spec has a share of which no namespace has a volume."""
    shares = existing(cluster.spec.cloud).shares
    named = {volume.share for _, namespace in cluster.namespaces for volume in namespace.spec.volumes.values()}
    for name in shares if named <= shares.keys() else ():
        if name not in named:
            message = f"no namespace has a volume of share {name}"
            yield Found(
                (*SHARES, name), f"{message}; expected volumes such as {{{name}: {{share: {name}}}}}", on_key=True
            )


def _source(volume: Mounted) -> tuple[str, ...]:
    """Returns what identifies the file system of a volume."""
    nfs, csi = volume.share.nfs, volume.share.csi
    if nfs:
        return ("nfs", nfs.server)
    assert csi is not None, "a share has nfs or csi"
    folder, secrets = driver(csi).get("folderAttribute"), (csi.stage_secret or "", csi.publish_secret or "")
    attributes = (f"{key} {value}" for key, value in sorted(csi.attributes.items()) if key != folder)
    return (csi.driver, csi.handle or "", *secrets, *attributes)
