"""Rules about the training runtimes of tenants: their pools, queues and checkpoints."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Related, Severity
from gpuc.kubernetes.duration import format_duration
from gpuc.model import Cluster, Pool
from gpuc.model.names import GPU
from gpuc.model.tenant import Run
from gpuc.parts.workload_kinds import workload_kinds
from gpuc.rules import Findings, Found, rule


def _runs(cluster: Cluster) -> Iterator[Run]:
    return (run for tenant in cluster.tenants for run in tenant.runs)


@rule("TRN101")
def runtime_without_trainer(cluster: Cluster) -> Findings:
    """A tenant has a training runtime, but the cluster has no Kubeflow Trainer."""
    (framework,) = (kind.queueing.framework for kind in workload_kinds() if kind.traits.resolved)
    if framework in cluster.brought_controllers:
        return
    rows = cluster.catalog.releases[cluster.spec.releases.set].values()
    component = next((row.component for row in rows if framework in row.frameworks), "")
    for run in _runs(cluster):
        message = f"training runtime {run.name} needs Kubeflow Trainer, but component {component} is missing"
        yield Found(run.path, message, f"add {component}: {{}} to components", on_key=True)


@rule("TRN102")
def runtime_on_unsuitable_pool(cluster: Cluster) -> Findings:
    """The node pool of a training runtime has no EFA, or has partitioned or shared GPUs."""
    for run in _runs(cluster):
        if actual := _unsuitable(run.pool):
            message = f"training runtime {run.name} is on node pool {run.pool.name}, which {actual}"
            yield Found((*run.path, "pool"), f"{message}; expected complete GPUs and fabric: efa")


def _unsuitable(pool: Pool) -> str:
    if not pool.is_gpu:
        return "has no GPUs"
    if pool.sharing_kind != "exclusive":
        return f"divides its GPUs ({pool.sharing_kind})"
    return "" if pool.has_efa else "has no EFA"


@rule("TRN103")
def runtime_that_no_queue_admits(cluster: Cluster) -> Findings:
    """No queue of the namespace has enough quota for the nodes of a training runtime."""
    for run in _runs(cluster):
        queue = run.queue
        if _unsuitable(run.pool):
            continue
        if queue is None:
            message = f"no queue of namespace {run.namespace.name} has quota of node pool {run.pool.name}"
            yield Found((*run.path, "pool"), f"{message}, so training runtime {run.name} never gets nodes")
            continue
        capacity = cluster.quota_nodes[queue.name].capacity((run.pool.name, GPU))
        most = min(capacity // run.pool.node[GPU], run.pool.nodes_max)
        if run.spec.nodes <= most:
            continue
        actual = f"training runtime {run.name} has {run.spec.nodes} nodes of pool {run.pool.name}"
        message = f"{actual}, but queue {queue.name} has at most {most} with everything that it can borrow"
        own = next(row.path for row in queue.pool_quotas if row.pool is run.pool)
        related = [Related(f"the quota of queue {queue.name}", own)]
        yield Found((*run.path, "nodes"), message, f"write {most} or fewer" if most else "", related)


@rule("TRN104")
def checkpoints_after_grace(cluster: Cluster) -> Findings:
    """The time between two checkpoints of a training runtime is longer than the grace period of its pods."""
    for run in _runs(cluster):
        every, runs, scaling = run.checkpoint_seconds, run.pool.spec.runs, run.pool.scaling
        if run.spec.checkpoints is not None and every is None:
            message = f"training runtime {run.name} has checkpoints, but no time between two checkpoints"
            yield Found((*run.path, "checkpoints"), message, f"add runs.checkpointEvery to node pool {run.pool.name}")
            continue
        grace = (runs and runs.checkpoint_every) or (scaling and scaling.grace_seconds)
        if every is not None and grace and every > grace:
            actual = f"training runtime {run.name} writes a checkpoint every {format_duration(every)}"
            message = f"{actual}, but a pod on node pool {run.pool.name} ends after {format_duration(grace)}"
            yield Found((*run.path, "checkpoints", "every"), message, f"write {format_duration(grace)} or less")


@rule("TRN105", Severity.WARNING)
def interruptible_without_checkpoints(cluster: Cluster) -> Findings:
    """A training runtime without checkpoints is on capacity that can be interrupted."""
    for run in _runs(cluster):
        seconds = run.pool.scaling.notice_seconds if run.pool.scaling else None
        if seconds and run.spec.checkpoints is None:
            message = f"training runtime {run.name} has no checkpoints, but nodes of pool {run.pool.name}"
            yield Found(run.path, f"{message} end {seconds} seconds after a notice", on_key=True)
