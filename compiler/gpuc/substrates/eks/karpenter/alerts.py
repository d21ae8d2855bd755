"""Alerts for nodes that do not become ready, and for EC2 capacity that is missing or ends."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from gpuc.emit.alerts.alert import Alert, alert, any_of, events
from gpuc.model import Cluster, Pool
from gpuc.substrates.eks.scaling import eks

NODE_MINUTES = 20
"""Minimum time limit for the initialization of a NodeClaim. A pool with a longer boot time raises the limit."""
NOT_READY_SECONDS = 600
"""Time limit for a NodePool or EC2NodeClass that is not ready."""
NOT_REGISTERED = ("registration_timeout", "launch_timeout", "nodeclass_not_ready")
"""The reasons, in a metric of Karpenter, for deleted NodeClaims that never became a node.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/lifecycle (liveness.go, launch.go)
"""


def node_pool_pattern(pools: Iterable[Pool]) -> str:
    """Returns a regular expression for alerts, which matches the names of all NodePool objects of these pools."""
    return any_of(name for pool in pools for name in eks(pool).node_pools)


def capacity_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for missing capacity, unused reservations, spot interruptions, and capacity blocks that end."""
    yield _no_capacity(cluster)
    yield alert("GpucPoolFull", pools=node_pool_pattern(cluster.pools))
    for pool in cluster.pools:
        yield from _unused_reservation(pool)
        yield from _idle_reservation(pool)
        yield from _spot(pool)
        yield from _capacity_block(cluster, pool)


def _no_capacity(cluster: Cluster) -> Alert:
    """Returns an alert for pools that get no instance for half an hour.

    A failed launch is normal if another zone or type follows, so a registered node of the pool silences the alert.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/lifecycle (launch.go, registration.go)
    """
    pools = f'nodepool=~"{node_pool_pattern(cluster.pools)}"'
    failed = events(f'karpenter_nodeclaims_disrupted_total{{{pools},reason="insufficient_capacity"}}', 30)
    started = events(f"karpenter_nodes_created_total{{{pools}}}", 30)
    return alert("GpucNoCapacity", failed=failed, started=started)


def _unused_reservation(pool: Pool) -> Iterator[Alert]:
    """Yields an alert for a pool that buys other capacity although its reservation has free instances (C20).

    Without the number of reserved instances, the alert only fires if the pool uses no reserved instance.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/controllers/nodeclass/capacityreservation.go
    """
    reservations = eks(pool).spec.reservations
    if reservations is None or set(eks(pool).spec.purchase) == {"reserved"}:
        return
    reserved = min(reservations.instances or 1, pool.nodes_max)
    nodes = f'karpenter_nodes_allocatable{{nodepool="{pool.name}",capacity_type%s"reserved"}}'
    bought, used = (f"count(count by (node_name) ({nodes % operator}))" for operator in ("!=", "="))
    label = ("pool", pool.name)
    yield alert("GpucReservationUnused", label, pool=pool.name, bought=bought, used=used, reserved=reserved)


def _idle_reservation(pool: Pool) -> Iterator[Alert]:
    """Yields an alert for a reservation of a known size that has had free instances for hours."""
    reservations = eks(pool).spec.reservations
    if reservations is None or not reservations.instances:
        return
    nodes = f'karpenter_nodes_allocatable{{nodepool=~"{node_pool_pattern([pool])}",capacity_type="reserved"}}'
    reserved = min(reservations.instances, pool.nodes_max)
    yield alert("GpucReservationIdle", ("pool", pool.name), pool=pool.name, nodes=nodes, reserved=reserved)


def _spot(pool: Pool) -> Iterator[Alert]:
    """Yields an alert for spot interruptions that are so frequent that runs lose most of their work."""
    runs = pool.spec.runs
    if "spot" not in eks(pool).spec.purchase or runs is None:
        return
    selector = f'="{pool.name}"' if not pool.warm_nodes else f'=~"{node_pool_pattern([pool])}"'
    counter = f'karpenter_nodeclaims_disrupted_total{{nodepool{selector},reason="spot_interrupted"}}'
    if runs.checkpoint_every is None:
        limit = 0
        loss = (
            f"EC2 interrupted a spot instance of pool {pool.name}, whose runs have no checkpoints and lost their work."
        )
    else:
        limit = max(1, 3600 // runs.checkpoint_every // 2)
        loss = f"Pool {pool.name} had more than {limit} spot interruptions in an hour: runs lose most of their work."
    yield alert("GpucSpotInterrupted", pool=pool.name, interrupted=events(counter, 60), limit=limit, loss=loss)


def _capacity_block(cluster: Cluster, pool: Pool) -> Iterator[Alert]:
    """Yields an alert that fires when new runs would no longer end before the end of their capacity block (C19).

    The alert ends when the pool is on hold, which removes the rule, or with the block. After the end it fires only
    while Kueue admits workloads to the pool, whose nodes cannot start.
    """
    hold_at, block = eks(pool).hold_at(pool.boot_minutes), eks(pool).block
    if hold_at is None or block is None or not pool.admits_workloads:
        return
    hold, end = int(hold_at.timestamp()), int(datetime.fromisoformat(block.ends).timestamp())
    reserved = f'kueue_cluster_queue_resource_reservation{{flavor="{pool.name}",replica_role!="follower"}}'
    yield alert(
        "GpucCapacityBlockEnds",
        ("pool", pool.name),
        cluster=cluster.name,
        pool=pool.name,
        hold=hold,
        end=end,
        ends=block.ends,
        reserved=reserved,
    )


def node_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for nodes that do not register, or do not become ready."""
    pools = node_pool_pattern(cluster.pools)
    counter = f'karpenter_nodeclaims_disrupted_total{{nodepool=~"{pools}",reason=~"{any_of(NOT_REGISTERED)}"}}'
    has_warm = any(pool.warm_nodes for pool in cluster.pools)
    classes = " The NodePool POOL-warm has the EC2NodeClass POOL." if has_warm else ""
    yield alert("GpucNodeNotRegistered", failed=events(counter, 60), classes=classes)
    for kind in ("NodePool", "EC2NodeClass"):
        yield _not_ready(kind, pools)
    if cluster.gpu_pools:
        yield from _unhealthy(cluster)
    slowest = max([NODE_MINUTES, *(pool.boot_minutes for pool in cluster.pools)])
    yield alert("GpucNodeNotInitialized", seconds=slowest * 60, slowest=slowest)


def _unhealthy(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for GPU nodes that a node monitoring agent reports as broken. The alerts need the agent.

    Source: aws/eks-node-monitoring-agent v1.7.0 (condition AcceleratedHardwareReady); kubernetes-sigs/karpenter v1.14.1
    pkg/controllers/node/health (more than 20 % of a NodePool, rounded up, stop the repair; the counter)
    """
    pools = node_pool_pattern(cluster.gpu_pools)
    nodes = f'operator_node_status_condition_count{{karpenter_sh_nodepool=~"{pools}",type="%s"%s}}'
    broken = nodes % ("AcceleratedHardwareReady", ',status="False"')
    yield alert("GpucUnhealthyNode", broken=broken)
    yield alert("GpucPoolBroken", broken=broken, nodes=nodes % ("Ready", ""))
    counter = f'karpenter_nodeclaims_unhealthy_disrupted_total{{nodepool=~"{pools}"}}'
    yield alert("GpucRepairLoop", repaired=events(counter, 60))


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
