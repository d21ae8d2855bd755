"""Chapters of the README about the EKS cluster, the nodes of the controllers, and what EC2 must offer for pools."""

from gpuc.emit.component import by_section, needed_components
from gpuc.emit.prerequisites.connections import replaces_kube_proxy
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster, Pool
from gpuc.model.names import SYSTEM_TAINT
from gpuc.substrates.eks.chapters import AWS, HERE
from gpuc.substrates.eks.scaling import aws, eks

CAPACITY_TITLE = "Reserved capacity"


def system_nodes(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the EKS cluster, and about the nodes on which the controllers run."""
    known = {"name": aws(cluster).eks_cluster, "version": cluster.spec.kubernetes}
    replaced = replaces_kube_proxy(cluster)
    components = by_section(needed_components(cluster))
    rows: list[Row] = [
        ("eks-cluster", (*AWS, "eksCluster"), known),
        ("authentication-mode", (*AWS, "eksCluster"), known),
        ("system-nodes", AWS, {"taint": SYSTEM_TAINT}),
        ("eks-addon/coredns", AWS, {}),
        *([] if replaced else [("eks-addon/kube-proxy", AWS, {})]),
    ]
    values = {
        "controllers_of_platform": ", ".join(component.title for component in components if component.has_controller),
        "charts": sorted(cluster.spec.charts),
        "replaces_kube_proxy": replaced,
    }
    return written(cluster, HERE / "system_nodes", "EKS cluster and system nodes", rows, **values)


def instance_types(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the instance types that EC2 must offer in the region of the cluster.

    gpuc has no list of the types that EC2 offers in each region, so the chapter has commands that check the types.
    """
    paths = {instance.type: pool.path for pool in reversed(cluster.pools) for instance in pool.instances}
    types = sorted(paths)
    rows: list[Row] = [
        ("instance-type", (*paths[name], "instances"), {"name": name, "types": ",".join(types)}) for name in types
    ]
    return written(cluster, HERE / "instance_types", "Instance types", rows, pools=cluster.pools)


def placement(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the EC2 placement groups of node pools."""
    placed = [pool for pool in cluster.pools if eks(pool).spec.placement]
    # EC2 places the instances of a capacity block close together without a placement group.
    in_group = [pool for pool in placed if eks(pool).reserved_ids and eks(pool).block is None]
    rows: list[Row] = [
        ("placement-group", (*eks(pool).path, "placement"), {"name": f"{cluster.name}-{pool.name}"}) for pool in placed
    ]
    return written(cluster, HERE / "placement", "Placement groups", rows, placed=placed, reserved_in_group=in_group)


def capacity(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the capacity reservations of node pools."""
    ids_of = [(pool, eks(pool).reserved_ids) for pool in cluster.pools if eks(pool).reserved_ids]
    reserved = [pool for pool, _ in ids_of]
    ids = " ".join(name for _, listed in ids_of for name in listed)
    rows: list[Row] = [
        (
            "capacity-reservation",
            (*eks(pool).path, "reservations"),
            {"name": name, "ids": ids, "types": _types(pool), "zones": ", ".join(pool.zones)},
        )
        for pool, listed in ids_of
        for name in listed
    ]
    values = {
        "reserved": reserved,
        "reserved_only": [pool for pool in reserved if eks(pool).spec.purchase == ["reserved"]],
        "reserved_and_other": [pool for pool in reserved if eks(pool).spec.purchase != ["reserved"]],
        "types": _types,
    }
    return written(cluster, HERE / "capacity", CAPACITY_TITLE, rows, **values)


def _types(pool: Pool) -> str:
    return ", ".join(instance.type for instance in pool.instances)


def topology(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the node labels with which Kueue places pods close together."""
    by_block = [pool for pool in cluster.pools if "block" in (pool.spec.topology or ())]
    labels = sorted({pool.level_labels["block"] for pool in by_block})
    pools = {label: [pool for pool in by_block if pool.level_labels["block"] == label] for label in labels}
    rows: list[Row] = [
        ("node-label", (*of_label[0].path, "topology"), {"name": label}) for label, of_label in pools.items()
    ]
    return written(cluster, HERE / "topology", "Topology labels", rows, pools_by_label=pools)
