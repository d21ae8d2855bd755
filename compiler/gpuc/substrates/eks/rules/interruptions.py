"""Rules about training runs, and about what interrupts their pods: spot capacity, and the replacement of nodes."""

from gpuc.diagnostics.finding import Related, Severity
from gpuc.kubernetes.duration import format_duration
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, pool_rule, rule
from gpuc.substrates.eks.scaling import aws, eks


@pool_rule("KRP104", Severity.WARNING)
def checkpoint_after_longest_run(pool: Pool) -> Findings:
    """The time between two checkpoints of a node pool is longer than its longest run."""
    runs = pool.spec.runs
    if runs and runs.checkpoint_every and runs.checkpoint_every > runs.longest:
        every, longest = format_duration(runs.checkpoint_every), format_duration(runs.longest)
        message = f"runs.checkpointEvery of node pool {pool.name} is {every}, but runs.longest is {longest}"
        related = [Related(f"runs.longest is {longest}", (*pool.path, "runs", "longest"))]
        yield Found((*pool.path, "runs", "checkpointEvery"), message, related=related)


@pool_rule("KRP124", Severity.WARNING)
def expiring_nodes(pool: Pool) -> Findings:
    """The nodes of a node pool with servers or training runs expire."""
    expire_after = eks(pool).spec.expire_after
    if expire_after is not None and (pool.spec.purpose == "inference" or pool.spec.runs):
        longest, lifetime = pool.spec.runs.longest if pool.spec.runs else 0, format_duration(expire_after)
        shorter = f", less than runs.longest {format_duration(longest)}" if longest > expire_after else ""
        message = f"expireAfter of node pool {pool.name} is {lifetime}{shorter}; expected no expireAfter"
        related = [Related("the longest run", (*pool.path, "runs", "longest"))] if shorter else ()
        fix = f"remove expireAfter from node pool {pool.name}"
        yield Found((*eks(pool).path, "expireAfter"), message, fix, related)


@pool_rule("KRP005")
def interruptible_runs(pool: Pool) -> Findings:
    """Training runs on spot capacity save no checkpoints."""
    runs = pool.spec.runs
    if runs and runs.checkpoint_every is None and "spot" in eks(pool).spec.purchase:
        longest = format_duration(runs.longest)
        actual = f"node pool {pool.name} has no runs.checkpointEvery, but spot capacity, which AWS can take back"
        message = f"{actual}: a run loses the work of up to {longest}"
        fix = f"add checkpointEvery to runs of node pool {pool.name}, or remove spot from purchase"
        related = [Related("runs without checkpoints", (*pool.path, "runs"), on_key=True)]
        yield Found((*eks(pool).path, "purchase", eks(pool).spec.purchase.index("spot")), message, fix, related)


@rule("KRP125", Severity.WARNING)
def no_working_hours(cluster: Cluster) -> Findings:
    """The spec of a cluster with GPUs declares no working hours."""
    if cluster.gpu_pools and cluster.spec.working_hours is None:
        message = "workingHours is missing; expected timeZone and hours"
        yield Found(("spec",), message, "add workingHours: {timeZone, hours: 08:00-18:00}")


@pool_rule("KRP103", Severity.WARNING)
def training_without_runs(pool: Pool) -> Findings:
    """The spec of a training node pool does not declare how long its runs last."""
    if pool.spec.purpose == "training" and pool.spec.runs is None:
        message = f"purpose of node pool {pool.name} is training, but the key runs is missing"
        fix = f"add runs: {{longest, checkpointEvery}} to node pool {pool.name}"
        yield Found((*pool.path, "purpose"), message, fix)


@rule("KRP116", Severity.WARNING)
def unannounced_interruptions(cluster: Cluster) -> Findings:
    """A node pool buys spot capacity, but the cluster has no interruption queue."""
    if aws(cluster).interruption_queue is not None:
        return
    for pool in cluster.pools:
        if "spot" in eks(pool).spec.purchase:
            path = (*eks(pool).path, "purchase", eks(pool).spec.purchase.index("spot"))
            yield Found(path, f"node pool {pool.name} buys spot capacity, but cloud.aws.interruptionQueue is missing")
