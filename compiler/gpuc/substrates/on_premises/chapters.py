"""Chapters of the cluster's README: what a cluster of existing nodes needs."""

from collections.abc import Iterator
from pathlib import Path as File

from gpuc.emit.component import by_section, needed_components
from gpuc.emit.prerequisites.connections import (
    ENGINE,
    host_names_of,
    networks_of,
    policy_rows,
    replaces_kube_proxy,
)
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster
from gpuc.model.names import SYSTEM_TAINT
from gpuc.substrates.on_premises.volumes import mounted

_HERE = File(__file__).parent
_SECTION = ("spec", "cloud", "none")


def nodes(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the nodes of the pools, and the nodes on which the controllers run."""
    rows: list[Row] = [("nodes", (*pool.path, "machines"), {"name": pool.name}) for pool in cluster.pools]
    rows += [
        ("kubernetes", ("spec", "kubernetes"), {"version": cluster.spec.kubernetes}),
        ("system-nodes", _SECTION, {"taint": SYSTEM_TAINT}),
        ("add-on/coredns", _SECTION, {}),
        *([] if replaces_kube_proxy(cluster) else [("add-on/kube-proxy", _SECTION, {})]),
    ]
    controllers = by_section(needed_components(cluster))
    titles = ", ".join(component.title for component in controllers if component.has_controller)
    return written(cluster, _HERE / "nodes", "Nodes", rows, controllers_of_platform=titles)


def network(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the network plugin that enforces NetworkPolicies."""
    return written(cluster, _HERE / "network", "Network", _network_rows(cluster), host_names=host_names_of(cluster))


def _network_rows(cluster: Cluster) -> Iterator[Row]:
    if not networks_of(cluster):
        return
    engine = "cilium" if cluster.network.policy_engine == "cilium" else "none"
    yield f"network-policy-engine/{engine}", ENGINE, {}
    yield from policy_rows(cluster)


def members(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the groups of tenants' members and of auditors."""
    groups = {group: tenant.path for tenant in cluster.tenants for group in tenant.groups}
    groups |= {group: ("spec", "auditors") for group in cluster.auditors if group not in groups}
    rows: list[Row] = [("group", path, {"name": name}) for name, path in groups.items()]
    return written(cluster, _HERE / "members", "Members of tenants", rows)


def shares(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the storage systems whose shares namespaces mount."""
    found = list(mounted(cluster))
    rows: dict[str, Row] = {}
    for volume in found:
        path, nfs, csi = (
            ("spec", "cloud", "onPremises", "shares", volume.spec.share),
            volume.share.nfs,
            volume.share.csi,
        )
        if nfs:
            rows.setdefault(f"nfs {nfs.server}", ("nfs-server", path, {"name": nfs.server}))
        if csi:
            rows.setdefault(f"csi {csi.driver}", ("csi-driver", path, {"name": csi.driver}))
            for name in filter(None, (csi.stage_secret, csi.publish_secret)):
                namespace, secret = name.split("/")
                rows.setdefault(name, ("secret", path, {"name": name, "namespace": namespace, "secret": secret}))
    return written(cluster, _HERE / "shares", "Shares", rows.values(), volumes=found)
