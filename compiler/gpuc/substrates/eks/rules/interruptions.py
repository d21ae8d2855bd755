"""The runs of node pools, and what interrupts pods: spot capacity and the replacement of nodes."""

from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.kubernetes.duration import format_duration
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, pool_rule, rule
from gpuc.substrates.eks.scaling import aws, eks


@pool_rule("KRP104", Severity.WARNING)
def checkpoint_after_longest_run(pool: Pool) -> Findings:
    """The time between checkpoints is longer than the longest run.

    Every run ends before its first checkpoint.
    """
    runs = pool.spec.runs
    if runs and runs.checkpoint_every and runs.checkpoint_every > runs.longest:
        every, longest = format_duration(runs.checkpoint_every), format_duration(runs.longest)
        message = f"runs.checkpointEvery of node pool {pool.name} is {every}, but runs.longest is {longest}"
        related = [Related(f"runs.longest is {longest}", (*pool.path, "runs", "longest"))]
        yield Found((*pool.path, "runs", "checkpointEvery"), message, related=related)


@pool_rule("KRP124", Severity.WARNING, source="aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption, expiration")
def expiring_nodes(pool: Pool) -> Findings:
    """Nodes with servers or runs expire.

    Karpenter drains an expired node at once: outside of disruption budgets, and before a new node has started. Nodes
    that started together expire together, so all replicas of a service can stop at the same time. A node with a run
    starts no other pods of the run until the run has ended.
    """
    expire_after = eks(pool).spec.expire_after
    if expire_after is not None and (pool.spec.purpose == "inference" or pool.spec.runs):
        message = f"expireAfter of node pool {pool.name} is {format_duration(expire_after)}; expected no expireAfter"
        yield Found((*eks(pool).path, "expireAfter"), message, f"remove expireAfter from node pool {pool.name}")


@pool_rule(
    "KRP005",
    source="EC2 user guide, spot interruptions; aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption.md",
)
def interruptible_runs(pool: Pool) -> Findings:
    """Runs on spot capacity save no checkpoints.

    EC2 takes spot nodes back with two minutes of notice. After the loss of one node, the complete run starts again from
    the beginning.
    """
    runs = pool.spec.runs
    if runs and runs.checkpoint_every is None and "spot" in eks(pool).spec.purchase:
        longest = format_duration(runs.longest)
        message = (
            f"node pool {pool.name} buys spot capacity for runs of up to {longest}, but has no runs.checkpointEvery"
        )
        fix = f"add checkpointEvery to runs of node pool {pool.name}, or remove spot from purchase"
        related = [Related("runs without checkpoints", (*pool.path, "runs"), on_key=True)]
        yield Found((*eks(pool).path, "purchase", eks(pool).spec.purchase.index("spot")), message, fix, related)


@rule("KRP125", Severity.WARNING, source="aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption, budgets")
def no_working_hours(cluster: Cluster) -> Findings:
    """The spec of a cluster with GPUs declares no working hours.

    Karpenter replaces nodes with running pods at any time, for example for a new AMI. Notebooks and servers then stop
    while people use them.
    """
    if cluster.gpu_pools and cluster.spec.working_hours is None:
        message = "workingHours is missing; expected timeZone and hours"
        yield Found(("spec",), message, "add workingHours: {timeZone, hours: 08:00-18:00}")


@pool_rule("KRP103", Severity.WARNING, source="aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption.md")
def training_without_runs(pool: Pool) -> Findings:
    """The spec of a training node pool does not declare the length of runs.

    Without this length Karpenter replaces nodes for a new AMI also during a run, and gives the pods of these nodes an
    hour to stop. EC2 takes spot nodes back with two minutes of notice.
    """
    if pool.spec.purpose == "training" and pool.spec.runs is None:
        message = f"purpose of node pool {pool.name} is training, but the key runs is missing"
        fix = f"add runs: {{longest, checkpointEvery}} to node pool {pool.name}"
        yield Found((*pool.path, "purpose"), message, fix)


@rule("KRP116", Severity.WARNING, source="aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption, interruption")
def unannounced_interruptions(cluster: Cluster) -> Findings:
    """A node pool buys spot capacity, but the cluster has no interruption queue.

    Without the queue Karpenter gets no notice when EC2 takes a node back. After two minutes the pods of the node are
    killed, before Karpenter starts another node.
    """
    if aws(cluster).interruption_queue is not None:
        return
    for pool in cluster.pools:
        if "spot" in eks(pool).spec.purchase:
            path = (*eks(pool).path, "purchase", eks(pool).spec.purchase.index("spot"))
            yield Found(path, f"node pool {pool.name} buys spot capacity, but cloud.aws.interruptionQueue is missing")
