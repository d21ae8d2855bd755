"""Alerts for nodes that do not register, do not become ready, or lack the resources of their pool."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, any_of, events
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
    yield Alert(
        "GpucNodeNotRegistered",
        f"sum by (nodepool, reason) {events(counter, 60)} > 0",
        "NodeClaims of pool {{ $labels.nodepool }} become no nodes ({{ $labels.reason }}), but may cost money.",
        "Check the EC2NodeClass, then the serial console of an instance.",
        "Karpenter deletes a NodeClaim without a node after 15 minutes, and starts the next one. Run kubectl describe "
        "ec2nodeclass {{ $labels.nodepool }} and kubectl get events -A --field-selector involvedObject.kind=NodeClaim."
        + classes,
        severity="critical",
    )
    for kind in ("NodePool", "EC2NodeClass"):
        yield _not_ready(kind, pools)
    slowest = max([NODE_MINUTES, *(pool.boot_minutes for pool in cluster.pools)])
    yield Alert(
        "GpucNodeNotInitialized",
        "max by (name, karpenter_sh_nodepool) (operator_nodeclaim_status_condition_current_status_seconds"
        f'{{type="Initialized",status!="True"}}) > {slowest * 60}',
        f"NodeClaim {{{{ $labels.name }}}} of pool {{{{ $labels.karpenter_sh_nodepool }}}} is not initialized after "
        f"{slowest} minutes: its node runs no pods.",
        "Delete the NodeClaim if its conditions do not change.",
        "Run kubectl describe nodeclaim {{ $labels.name }}. The conditions and events show the reason.",
        severity="critical",
    )
    for pool in cluster.gpu_pools:
        yield from _advertised(pool)
        yield _keeps_taint(pool)
    if any(pool.mig_by_operator for pool in cluster.gpu_pools):
        namespace = cluster.components["gpu-operator"].namespace
        yield Alert(
            "GpucMigLayoutNotReached",
            'max by (node) (kube_node_labels{label_nvidia_com_mig_config_state=~"failed|pending"}) == 1',
            "Node {{ $labels.node }} has no MIG slices: the MIG manager cannot apply its layout.",
            "Read the log of the MIG manager on the node.",
            f"Run kubectl get pods -n {namespace} -l app=nvidia-mig-manager -o wide, then kubectl logs.",
            minutes=15,
            severity="critical",
        )
    yield from _missing_sources(cluster, pools)


def _not_ready(kind: str, names: str) -> Alert:
    """Returns an alert for objects of Karpenter that are not ready. Karpenter makes no NodeClaims for their pools.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/provisioning/provisioner.go, static/provisioning;
    awslabs/operatorpkg 4da4c353c5fa status/controller.go: the seconds since the last transition, by name and reason
    """
    metric = f"operator_{kind.lower()}_status_condition_current_status_seconds"
    return Alert(
        "GpucNodePoolNotReady",
        f'max by (name, reason) ({metric}{{name=~"{names}",type="Ready",status!="True"}}) > {NOT_READY_SECONDS}',
        f"{kind} {{{{ $labels.name }}}} is not ready ({{{{ $labels.reason }}}}): Karpenter starts no nodes.",
        f"Read the conditions of the {kind}.",
        "Run kubectl get nodepools,ec2nodeclasses, then kubectl describe "
        f"{kind.lower()} {{{{ $labels.name }}}}. A NodePool is not ready if its EC2NodeClass is not.",
        severity="critical",
        labels=(("kind", kind),),
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
            yield Alert(
                "GpucNotAsAdvertised",
                f"max by (node) (kube_node_labels{{{selector}}}) unless on (node) ({advertises})",
                f"Node {{{{ $labels.node }}}} of pool {pool.name} does not have {quantity_text(resource, count)} "
                f"{resource}: admitted pods do not fit.",
                "Find the missing device, or replace the node.",
                "Run kubectl describe node {{ $labels.node }}. Then read the logs of the device plugins on this node.",
                pool.boot_minutes,
                "critical",
                labels=(*labels, ("resource", resource)),
            )


def _keeps_taint(pool: Pool) -> Alert:
    """Returns an alert for nodes that take no work, because they cannot become what their pool promises.

    Source: kubernetes/kube-state-metrics v2.20 docs/metrics/cluster/node-metrics.md
    """
    tainted = f'max by (node) (kube_node_spec_taint{{key="{GPUS_TAINT}"}})'
    return Alert(
        "GpucNodeTakesNoWork",
        f'{tainted} and on (node) kube_node_labels{{{POOL}="{pool.name}"}}',
        f"Node {{{{ $labels.node }}}} of pool {pool.name} runs no pods, because it keeps the taint {GPUS_TAINT}.",
        "Find the reason, then delete its NodeClaim.",
        f"Run kubectl describe node {{{{ $labels.node }}}}. The condition {GPUS_CONDITION} shows the reason.",
        pool.boot_minutes,
        "critical",
        labels=(("pool", pool.name),),
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
    yield Alert(
        "GpucPoolLabelMissing",
        f"{nodes} unless on () count(kube_node_labels{{{used}}})",
        "kube-state-metrics does not export the node labels of gpuc: alerts about nodes of a pool cannot fire.",
        "Set metricLabelsAllowlist as in the README of the cluster.",
        "The section Prometheus of the README has the value. Check also that Prometheus scrapes kube-state-metrics.",
        minutes=30,
    )
    sources = {"karpenter": "karpenter_build_info"} | ({"kueue": "kueue_build_info"} if cluster.queues else {})
    for source, metric in sources.items():
        yield Alert(
            "GpucMetricsMissing",
            f"absent({metric})",
            f"Prometheus has no metrics of {source}: alerts that need them cannot fire.",
            f"Check that {source} runs, and its ServiceMonitor.",
            f"Run kubectl get pods -n {cluster.components[source].namespace}. The page Targets of "
            "Prometheus shows errors, for example 401 or 403 if the role of Prometheus does not allow /metrics.",
            minutes=15,
            labels=(("source", source),),
        )
