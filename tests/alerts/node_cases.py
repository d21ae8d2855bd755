"""Cases of the alerts for nodes that do not register, do not become ready, or lack resources."""

from collections.abc import Iterator

from gpuc.components.gpu_operator.alerts import metric_resource
from gpuc.model import Cluster
from gpuc.substrates.eks.karpenter.alerts import NODE_MINUTES, NOT_REGISTERED
from tests.alerts.case import Case, Fired, table_cases
from tests.alerts.series import KARPENTER, STATE, allocatable, pool_node

LONG = 200
"""The number of samples of a series that lasts during the whole case."""


def cases(cluster: Cluster) -> Iterator[Case]:
    pool = cluster.pools[-1].name
    for reason in NOT_REGISTERED:
        yield from table_cases("a node that ends", pool=pool, reason=reason)
    seconds = max([NODE_MINUTES, *(pool.boot_minutes for pool in cluster.pools)]) * 60
    yield from table_cases("nodes", pool=pool, early=seconds - 60, late=seconds + 60, later=seconds + 1200)
    for kind in ("NodePool", "EC2NodeClass"):
        names = {"kind": kind, "metric": kind.lower(), "pool": cluster.pools[0].name}
        yield from table_cases("a pool that is not ready", **names)
    if cluster.gpu_pools:
        yield from table_cases("broken nodes", pool=cluster.gpu_pools[0].name)
        yield from _broken(cluster.gpu_pools[0].name)
        yield from _advertised(cluster)
        yield from _taints(cluster)
    if any(pool.mig_by_operator for pool in cluster.gpu_pools):
        yield from table_cases("mig")


def _broken(pool: str) -> Iterator[Case]:
    """Yields cases of a pool with five nodes, of which Karpenter repairs at most one at a time."""
    fired = [{"karpenter_sh_nodepool": pool}]
    labels = {"karpenter_sh_initialized": "true", "karpenter_sh_nodepool": pool}
    metric = "operator_node_status_condition_count"
    for broken, expected in ((1, []), (2, fired)):
        series = {}
        for number in range(5):
            known = {**labels, "name": f"n{number}"}
            health = "False" if number < broken else "True"
            series[KARPENTER.series(metric, type="Ready", status="True", reason="KubeletReady", **known)] = "1x30"
            series[KARPENTER.series(metric, type="AcceleratedHardwareReady", status=health, **known)] = "1x30"
        yield Case(f"{broken} of 5 nodes are broken", "GpucPoolBroken", series, {"4m": [], "7m": expected})


def _advertised(cluster: Cluster) -> Iterator[Case]:
    nodes: dict[str, str] = {}
    resources: dict[str, str] = {}
    missing: list[Fired] = []
    for pool in cluster.gpu_pools:
        for instance in pool.instances:
            node = f"{pool.name}-{instance.type}"
            nodes[pool_node(node, pool.name, instance.type)] = f"1x{LONG}"
            type_label = {"instance_type": instance.type} if len(pool.instances) > 1 else {}
            for resource, count in pool.advertised(instance).items():
                resources[allocatable(node, metric_resource(resource))] = f"{count}x{LONG}"
                missing.append({"node": node, "pool": pool.name, "resource": resource, **type_label})
    minutes = max(pool.boot_minutes for pool in cluster.gpu_pools)
    soon = min(pool.boot_minutes for pool in cluster.gpu_pools) - 1
    yield Case(
        "nodes of each pool that advertise nothing",
        "GpucNotAsAdvertised",
        nodes,
        {f"{soon}m": [], f"{minutes + 2}m": missing},
    )
    yield Case(
        "nodes of each pool that advertise everything", "GpucNotAsAdvertised", {**nodes, **resources}, {"90m": []}
    )
    pool = cluster.gpu_pools[0]
    resource, count = next(iter(pool.advertised(pool.instances[0]).items()))
    node = f"{pool.name}-{pool.instances[0].type}"
    series = allocatable(node, metric_resource(resource))
    lost = next(fired for fired in missing if fired["pool"] == pool.name and fired["resource"] == resource)
    yield Case(
        "a lost GPU: the device plugin advertises one GPU less",
        "GpucNotAsAdvertised",
        {**nodes, **resources, series: f"{count}x60 {count - 1}x{LONG}"},
        {"60m": [], f"{62 + pool.boot_minutes}m": [lost]},
    )


def _taints(cluster: Cluster) -> Iterator[Case]:
    pools = cluster.gpu_pools
    nodes = {pool_node(pool.name, pool.name): f"1x{LONG}" for pool in pools}

    def taint(node: str, key: str = "gpuc.dev/gpus") -> str:
        return STATE.series("kube_node_spec_taint", node=node, key=key, value="pending", effect="NoSchedule")

    minutes = max(pool.boot_minutes for pool in pools)
    yield Case(
        "nodes of each pool that keep the startup taint",
        "GpucNodeTakesNoWork",
        {**nodes, **{taint(pool.name): f"1x{LONG}" for pool in pools}},
        {
            f"{min(pool.boot_minutes for pool in pools) - 1}m": [],
            f"{minutes + 2}m": [{"node": pool.name, "pool": pool.name} for pool in pools],
        },
    )
    yield Case(
        "nodes of each pool that lose the startup taint in time, and keep other taints",
        "GpucNodeTakesNoWork",
        {
            **nodes,
            **{taint(pool.name): f"1x{pool.boot_minutes - 2} stale" for pool in pools},
            **{taint(pool.name, "gpuc.dev/mode"): f"1x{LONG}" for pool in pools},
        },
        {f"{minutes + 30}m": []},
    )
