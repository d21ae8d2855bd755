"""Alerts for nodes that do not register, do not become ready, or lack the resources of their pool."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, alert, any_of, events
from gpuc.emit.alerts.gpus import POOL
from gpuc.kubernetes.amounts import quantity_text
from gpuc.model import Cluster, Pool
from gpuc.model.names import GPUS_CONDITION, GPUS_TAINT, POOL_LABEL

NODE_MINUTES = 20
"""Minimum time limit for the initialization of a NodeClaim. A pool with a longer boot time raises the limit."""
NOT_READY_SECONDS = 600
"""Time limit for a NodePool or EC2NodeClass that is not ready."""
INSTANCE_TYPE = "label_node_kubernetes_io_instance_type"
"""The node label node.kubernetes.io/instance-type in the metric kube_node_labels."""
NOT_REGISTERED = ("registration_timeout", "launch_timeout", "nodeclass_not_ready")
"""Reasons with which Karpenter counts NodeClaims that it deletes because they became no node.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/lifecycle (liveness.go, launch.go)
"""


def node_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for nodes that do not register, do not become ready, or lack the resources of their pool."""
    pools = any_of(name for pool in cluster.pools for name in pool.node_pools)
    counter = f'karpenter_nodeclaims_disrupted_total{{nodepool=~"{pools}",reason=~"{any_of(NOT_REGISTERED)}"}}'
    has_warm = any(pool.warm_nodes for pool in cluster.pools)
    classes = " The NodePool POOL-warm has the EC2NodeClass POOL." if has_warm else ""
    yield alert("GpucNodeNotRegistered", failed=events(counter, 60), classes=classes)
    for kind in ("NodePool", "EC2NodeClass"):
        yield _not_ready(kind, pools)
    slowest = max([NODE_MINUTES, *(pool.boot_minutes for pool in cluster.pools)])
    yield alert("GpucNodeNotInitialized", seconds=slowest * 60, slowest=slowest)
    for pool in cluster.gpu_pools:
        yield from _advertised(pool)
        yield _keeps_taint(pool)
    if any(pool.mig_by_operator for pool in cluster.gpu_pools):
        yield alert("GpucMigLayoutNotReached", namespace=cluster.components["gpu-operator"].namespace)
    yield from _missing_sources(cluster, pools)


def _not_ready(kind: str, names: str) -> Alert:
    """Returns an alert for objects of Karpenter that are not ready. Karpenter makes no NodeClaims for their pools.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/provisioning/provisioner.go, static/provisioning;
    awslabs/operatorpkg 4da4c353c5fa status/controller.go: the seconds since the last transition, by name and reason
    """
    metric = f"operator_{kind.lower()}_status_condition_current_status_seconds"
    return alert(
        "GpucNodePoolNotReady",
        ("kind", kind),
        metric=metric,
        names=names,
        seconds=NOT_READY_SECONDS,
        kind=kind,
        resource=kind.lower(),
    )


def _advertised(pool: Pool) -> Iterator[Alert]:
    """Yields alerts for nodes that do not advertise the resources of their pool after the boot time.

    Quotas, NodeOverlays and limits depend on these resources.
    """
    for instance in pool.instances:
        selector = f'{POOL}="{pool.name}"'
        labels: tuple[tuple[str, str], ...] = (("pool", pool.name),)
        if len(pool.instances) > 1:
            selector += f',{INSTANCE_TYPE}="{instance.type}"'
            labels = (*labels, ("instance_type", instance.type))
        for resource, count in pool.advertised(instance).items():
            advertises = f'kube_node_status_allocatable{{resource="{metric_resource(resource)}"}} == {count}'
            yield alert(
                "GpucNotAsAdvertised",
                *labels,
                ("resource", resource),
                minutes=pool.boot_minutes,
                selector=selector,
                advertises=advertises,
                pool=pool.name,
                count=quantity_text(resource, count),
                resource=resource,
            )


def _keeps_taint(pool: Pool) -> Alert:
    """Returns an alert for nodes that take no work, because they cannot become what their pool promises.

    Source: kubernetes/kube-state-metrics v2.20 docs/metrics/cluster/node-metrics.md
    """
    tainted = f'max by (node) (kube_node_spec_taint{{key="{GPUS_TAINT}"}})'
    return alert(
        "GpucNodeTakesNoWork",
        ("pool", pool.name),
        minutes=pool.boot_minutes,
        tainted=tainted,
        selector=f'{POOL}="{pool.name}"',
        pool=pool.name,
        taint=GPUS_TAINT,
        condition=GPUS_CONDITION,
    )


def metric_resource(resource: str) -> str:
    """Returns the name of a resource as a label value of kube-state-metrics."""
    return "".join(character if character.isalnum() else "_" for character in resource)


def node_labels(cluster: Cluster) -> list[str]:
    """Returns the node labels that kube-state-metrics must export because alerts use them."""
    labels = [POOL_LABEL]
    if any(len(pool.instances) > 1 for pool in cluster.gpu_pools):
        labels.append("node.kubernetes.io/instance-type")
    if any(pool.mig_by_operator for pool in cluster.gpu_pools):
        labels.append("nvidia.com/mig.config.state")
    return labels


def _missing_sources(cluster: Cluster, pools: str) -> Iterator[Alert]:
    """Yields alerts for metrics without which other alerts cannot fire.

    GpucTelemetryMissing and GpucAuditLate are the corresponding alerts for the DCGM exporter and Gatekeeper.
    """
    nodes = f'count(karpenter_nodes_allocatable{{nodepool=~"{pools}"}}) > 0'
    used = f'{POOL}!=""'
    if "node.kubernetes.io/instance-type" in node_labels(cluster):
        used += f',{INSTANCE_TYPE}!=""'
    yield alert("GpucPoolLabelMissing", nodes=nodes, used=used)
    sources = {"karpenter": "karpenter_build_info"} | ({"kueue": "kueue_build_info"} if cluster.queues else {})
    for source, metric in sources.items():
        namespace = cluster.components[source].namespace
        yield alert("GpucMetricsMissing", ("source", source), metric=metric, source=source, namespace=namespace)
