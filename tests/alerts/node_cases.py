"""Cases of the alerts for nodes that do not register, do not become ready, or lack resources."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.components.gpu_operator.alerts import metric_resource
from gpuc.model import Cluster
from gpuc.substrates.eks.karpenter.alerts import NODE_MINUTES, NOT_REGISTERED
from tests.alerts.case import Case, Fired
from tests.alerts.series import (
    KARPENTER,
    KARPENTER_RESTARTED,
    KUEUE,
    STATE,
    allocatable,
    disrupted,
    karpenter_node,
    node_labels,
    pool_node,
)

LONG = 200
"""The number of samples of a series that lasts during the whole case."""


def cases(cluster: Cluster) -> Iterator[Case]:
    yield from _not_registered(cluster)
    yield from _not_initialized(cluster)
    yield from _not_ready(cluster)
    if cluster.gpu_pools:
        yield from _advertised(cluster)
        yield from _taints(cluster)
    yield from _mig(cluster)
    yield from _sources(cluster)


def _not_registered(cluster: Cluster) -> Iterator[Case]:
    pool = cluster.pools[-1].name
    for reason in NOT_REGISTERED:
        yield Case(
            f"C24: the first NodeClaim that ends with {reason}, with which the counter begins",
            "GpucNodeNotRegistered",
            {disrupted(pool, reason): f"_x30 1x{LONG}"},
            {
                "29m": [],
                "31m": [Fired({"nodepool": pool, "reason": reason})],
                "85m": [Fired({"nodepool": pool, "reason": reason})],
                "95m": [],
            },
        )
    timeout = Fired({"nodepool": pool, "reason": "registration_timeout"})
    yield Case(
        "C8: a node that never registers: every 15 minutes, Karpenter deletes its NodeClaim and starts another one",
        "GpucNodeNotRegistered",
        {disrupted(pool, "registration_timeout", "reserved"): "_x15 1x14 2x14 3x14 4x14 5x14 6x14 7x60"},
        {"10m": [], "20m": [timeout], "60m": [timeout], "110m": [timeout]},
    )
    yield Case(
        "NodeClaims that end for other reasons, and failures of yesterday",
        "GpucNodeNotRegistered",
        {
            **{
                disrupted(pool, reason): f"0+1x{LONG}" for reason in ("expired", "drifted", "empty", "spot_interrupted")
            },
            disrupted(pool, "registration_timeout"): f"7x{LONG}",
        },
        {"125m": [], "190m": []},
    )
    yield Case(
        "C24: the first failure after a restart of Karpenter, whose counter begins again",
        "GpucNodeNotRegistered",
        {
            disrupted(pool, "registration_timeout"): "7x100 stale",
            disrupted(pool, "registration_timeout", controller=KARPENTER_RESTARTED): "_x130 1x60",
        },
        {"125m": [], "131m": [timeout]},
    )
    yield Case(
        "failures of yesterday, after Prometheus missed scrapes",
        "GpucNodeNotRegistered",
        {disrupted(pool, "registration_timeout"): f"7x100 _x20 7x{LONG}"},
        {"125m": [], "181m": [], "190m": []},
    )


def _not_ready(cluster: Cluster) -> Iterator[Case]:
    pool = cluster.pools[0].name
    for kind in ("NodePool", "EC2NodeClass"):

        def ready(status: str, reason: str, kind: str = kind) -> str:
            metric = f"operator_{kind.lower()}_status_condition_current_status_seconds"
            return KARPENTER.series(metric, type="Ready", status=status, reason=reason, name=pool)

        yield Case(
            f"S3: {kind} that is not ready for more than 10 minutes, and becomes ready again",
            "GpucNodePoolNotReady",
            {
                ready("True", "Ready"): f"0+60x19 stale _x40 0+60x{LONG}",
                ready("False", "NotReady"): "_x20 0+60x39 stale",
            },
            {"19m": [], "29m": [], "32m": [Fired({"name": pool, "reason": "NotReady"}, {"kind": kind})], "62m": []},
        )
        yield Case(
            f"S3: {kind} that is not ready for some minutes after its creation",
            "GpucNodePoolNotReady",
            {ready("Unknown", "AwaitingReconciliation"): "0+60x8 stale", ready("True", "Ready"): f"_x9 0+60x{LONG}"},
            {"8m": [], "30m": []},
        )


def _not_initialized(cluster: Cluster) -> Iterator[Case]:
    pool = cluster.pools[-1].name
    seconds = max([NODE_MINUTES, *(pool.boot_minutes for pool in cluster.pools)]) * 60

    def condition(name: str, status: str, kind: str = "Initialized") -> str:
        return KARPENTER.series(
            "operator_nodeclaim_status_condition_current_status_seconds",
            type=kind,
            status=status,
            reason=kind,
            name=name,
            karpenter_sh_nodepool=pool,
        )

    yield Case(
        "a NodeClaim whose node registers, but does not become ready",
        "GpucNodeNotInitialized",
        {condition("slow", "Unknown"): f"0+60x{LONG}", condition("slow", "True", "Registered"): f"0+60x{LONG}"},
        {
            f"{seconds - 60}s": [],
            f"{seconds + 60}s": [Fired({"name": "slow", "karpenter_sh_nodepool": pool})],
        },
    )
    yield Case(
        "a NodeClaim that becomes ready in time",
        "GpucNodeNotInitialized",
        {condition("good", "Unknown"): "0+60x15 stale", condition("good", "True"): f"_x16 0+60x{LONG}"},
        {"14m": [], f"{seconds + 1200}s": []},
    )


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
                missing.append(Fired({"node": node}, {"pool": pool.name, "resource": resource, **type_label}))
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
    lost = next(fired for fired in missing if fired.rule["pool"] == pool.name and fired.rule["resource"] == resource)
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
            f"{minutes + 2}m": [Fired({"node": pool.name}, {"pool": pool.name}) for pool in pools],
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


def _mig(cluster: Cluster) -> Iterator[Case]:
    if not any(pool.mig_by_operator for pool in cluster.gpu_pools):
        return

    def state(node: str, value: str) -> str:
        return node_labels(node, gpuc_dev_pool="models-a100", nvidia_com_mig_config_state=value)

    yield Case(
        "a MIG layout that fails, and one that waits",
        "GpucMigLayoutNotReached",
        {state("n1", "failed"): "1x60", state("n2", "pending"): "1x60", state("n3", "success"): "1x60"},
        {"14m": [], "17m": [Fired({"node": "n1"}), Fired({"node": "n2"})]},
    )
    yield Case(
        "a MIG layout that the MIG manager applies in ten minutes",
        "GpucMigLayoutNotReached",
        {state("n1", "pending"): "1x9 stale", state("n1", "success"): "_x10 1x60"},
        {"30m": []},
    )


def _sources(cluster: Cluster) -> Iterator[Case]:
    pool = cluster.pools[-1].name
    node = {karpenter_node("n1", pool, "on-demand", resource): f"1x{LONG}" for resource in ("cpu", "memory")}
    yield Case(
        "kube-state-metrics exports no node labels",
        "GpucPoolLabelMissing",
        {**node, STATE.series("kube_node_labels", node="n1"): f"1x{LONG}"},
        {"29m": [], "32m": [Fired()]},
    )
    yield Case(
        "kube-state-metrics is gone",
        "GpucPoolLabelMissing",
        {**node, pool_node("n1", pool): "1x30 stale"},
        {"30m": [], "65m": [Fired()]},
    )
    yield Case(
        "kube-state-metrics exports the node labels",
        "GpucPoolLabelMissing",
        {**node, pool_node("n1", pool): f"1x{LONG}"},
        {"60m": []},
    )
    yield Case("a cluster without nodes of Karpenter", "GpucPoolLabelMissing", {}, {"60m": []})
    sources = {"karpenter": KARPENTER, "kueue": KUEUE}
    series = {
        name: controller.series(f"{name}_build_info", git_version="v1").replace(',replica_role="leader"', "")
        for name, controller in sources.items()
    }
    for name in sources:
        yield Case(
            f"Prometheus has no metrics of {name}",
            "GpucMetricsMissing",
            {text: f"1x{LONG}" if other != name else "1x20 stale" for other, text in series.items()},
            {"20m": [], "30m": [], "40m": [Fired({}, {"source": name})]},
        )
    yield Case(
        "Prometheus has the metrics of all sources",
        "GpucMetricsMissing",
        dict.fromkeys(series.values(), f"1x{LONG}"),
        {"60m": []},
    )
