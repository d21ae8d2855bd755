"""Removes an element of the spec (a pool, a queue or a tenant) in two commits while a Job uses the element.

The first commit sets `leaving: true`. The second commit removes the element from the spec. A last commit adds the
element again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.substrates.eks.scaling import KEEP_NODE
from gpuc_rehearsal.argocd.checks import Failure
from gpuc_rehearsal.argocd.timeline import APPLICATION, NAMESPACE
from gpuc_rehearsal.client import Client, Object, WaitError
from gpuc_rehearsal.context import RehearsalContext, Timeouts
from gpuc_rehearsal.expectation import expect
from gpuc_rehearsal.outcome import Outcome, Request
from gpuc_rehearsal.substrates.eks.karpenter import CLAIM
from gpuc_rehearsal.suites.jobs import Work, job_of, kueue_decision, placed
from gpuc_rehearsal.transition.synced_changes import ObjectKey, key_of
from tests.conformance.argocd_edits.edit_result import EditResult
from tests.conformance.argocd_edits.edit_runner import EditRunner, run_manual_edit, sample_manual_edits
from tests.conformance.argocd_edits.sample_edits import Edits, Removal, larger_pools

TIMEOUTS = Timeouts(admission_s=40, node_s=120, completion_s=60, removal_s=120)
"""Longer than the defaults, because Argo CD and the programs of the charts share the machine with the control plane."""
DRAINED_SECONDS = 120
"""Limit for the time from the deletion of the Job until the last node of the pool is deleted."""
CLEARED_SECONDS = 60
"""Limit for the time until all unpruned objects (objects with Prune=false) are deleted."""
DELETION_ORDER = ("NodePool", "NodeOverlay", "EC2NodeClass", "ClusterQueue", "ResourceFlavor", "Topology", "Namespace")
"""Kinds that the cluster's README deletes with a command, in the order of the README. The deletion of a Namespace
deletes the namespaced objects."""


@dataclass(frozen=True)
class RunningJob:
    """A Job whose pod runs until the Job is deleted."""

    context: RehearsalContext
    job: Object
    pod: Object

    def __str__(self) -> str:
        metadata = self.job["metadata"]
        return f"Job {metadata['namespace']}/{metadata['name']}"

    @property
    def problem(self) -> str:
        """Why the Job does not run any more. Empty if the same pod still runs."""
        metadata = self.pod["metadata"]
        current = self.context.client.find("v1", "Pod", metadata["name"], metadata["namespace"])
        if current is None or current["metadata"]["uid"] != metadata["uid"]:
            return "the pod of the Job does not exist any more"
        if "deletionTimestamp" in current["metadata"]:
            return "the pod of the Job is being deleted"
        phase = current.get("status", {}).get("phase", "")
        return "" if phase == "Running" else f"the pod of the Job is {phase}"

    def delete(self) -> None:
        """Deletes the Job and its pod."""
        self.context.client.delete_object(self.job)


def start_job(client: Client, context: RehearsalContext, kind: str, name: str) -> RunningJob | str:
    """Starts a Job on a pool, through a queue or for a tenant. Returns the Job, or the reason why no Job can run.

    kind is pool, queue or tenant; name is the name of this element.
    """
    for pool, queue in _pools_and_queues(context.cluster, kind, name):
        request = Request(next(iter(pool.portions.values())), 1, pool.name)
        if expect(context.spec, queue, request).verdict != "admitted":
            continue
        work = Work(f"hold {kind} {name}", queue, request, keeps_running=True)
        document = job_of(context.cluster, work)
        document["spec"]["template"]["metadata"]["annotations"] |= KEEP_NODE
        document["metadata"]["name"] += "-held"
        created = client.create(document)
        return _wait_until_running(context, created, work)
    return f"no queue admits one pod to {kind} {name}"


def _wait_until_running(context: RehearsalContext, created: Object, work: Work) -> RunningJob | str:
    try:
        decided = kueue_decision(context, created)
        outcome = placed(context, created, work, decided) if decided.verdict == "admitted" else decided
        if outcome.verdict == "bound":
            context.until("the pod runs", lambda: _running_pod(context, created) is not None, context.timeouts.node_s)
    except WaitError as error:
        outcome = Outcome("unanswered", message=str(error))
    pod = _running_pod(context, created)
    if pod is None:
        context.client.delete_object(created)
        return f"the Job is {outcome.verdict}: {outcome.message}"
    return RunningJob(context, created, pod)


def _running_pod(context: RehearsalContext, created: Object) -> Object | None:
    pods = context.pods_of(created)
    return next((pod for pod in pods if pod.get("status", {}).get("phase") == "Running"), None)


def _pools_and_queues(cluster: Cluster, kind: str, name: str) -> list[tuple[Pool, ClusterQueue]]:
    """Returns pools and ClusterQueues that a Job of the element can use, pools without GPUs first."""
    pairs = [
        (pool, cluster_queue)
        for queue in cluster.queues
        for cluster_queue in queue.cluster_queues
        for pool in cluster_queue.pools
        if name in {"pool": (pool.name,), "queue": (queue.name,), "tenant": queue.tenant_names}[kind]
    ]
    return sorted(pairs, key=lambda pair: pair[0].is_gpu)


def run_removal(runner: EditRunner, kind: str, candidates: Iterable[Removal]) -> Iterator[EditResult]:
    """Removes the first candidate whose two commits both compile, and adds the element again.

    kind is the kind of the element: pool, queue or tenant. Yields the result of each step.
    """
    before = runner.spec_text
    chosen, reason = _first(runner, candidates, before)
    if chosen is None:
        skipped = reason or f"the cluster has no {kind} that can be removed"
        yield EditResult(f"a {kind} is removed", skipped=skipped)
        return
    runner.restore(before)
    job = start_job(runner.client, RehearsalContext(runner.spec, runner.client, TIMEOUTS), kind, chosen.name)
    try:
        yield from _remove(runner, chosen, job)
    finally:
        if isinstance(job, RunningJob):
            job.delete()


def _first(runner: EditRunner, candidates: Iterable[Removal], before: str) -> tuple[Removal | None, str]:
    """Returns the first removal whose two commits compile, or None with the first error of the first candidate."""
    reason = ""
    for candidate in candidates:
        errors = runner.try_change(candidate.mark) or runner.try_change(candidate.remove)
        runner.restore(before)
        if not errors:
            return candidate, ""
        reason = reason or f"{candidate}: {errors[0]}"
    return None, reason


def _remove(runner: EditRunner, removal: Removal, job: RunningJob | str) -> Iterator[EditResult]:
    name = f"{removal.kind} {removal.name}"
    running = str(job) if isinstance(job, RunningJob) else f"no Job runs: {job}"
    with runner.nothing_deleted(f"{name} is marked as leaving"):
        marked = _step(runner, removal, f"{name} is marked as leaving", removal.mark)
        yield replace(marked, change=f"{marked.change}; {running}")
        yield from _other_edits(runner, removal, "marked as leaving")
        if removal.kind == "pool":
            yield _step(runner, removal, f"{name} is no longer marked as leaving", removal.unmark)
            yield _step(runner, removal, f"{name} is marked again", removal.mark)
    _check_running(runner, f"{name} is marked as leaving", job)
    before = runner.spec_text
    allowed = [f"{kind} {object_name}" for kind, object_name in removal.protected] if removal.kind == "pool" else []
    unpruned: list[ObjectKey] = []
    with runner.nothing_deleted(f"{name} is removed", allowed):
        if errors := runner.try_change(removal.remove):
            yield EditResult(f"{name} is removed", note=errors[0])
            return
        change = runner.reload_spec()
        unpruned += change.unpruned
        subject = _subject(removal, change.pruned) or next(iter(change.pruned), None)
        summary = f"pruned: {len(change.pruned)} objects, not pruned: {len(change.unpruned)}"
        yield runner.commit_and_wait(f"{name} is removed", summary, change, subject, deleted=change.pruned)
        yield from _other_edits(runner, removal, "removed")
    _check_running(runner, f"{name} is removed", job)
    runner.wait_until_synced(f"{name} is removed")
    yield _delete_unpruned(runner, removal, unpruned, job)
    runner.restore(before)
    yield _step(runner, removal, f"{name} is added again", removal.unmark)
    runner.wait_until_synced(f"{name} is added again")


def _step(runner: EditRunner, removal: Removal, name: str, step: Edits) -> EditResult:
    """Commits one step. If the spec does not compile, the result is late and contains the compiler's message."""
    if errors := runner.try_change(step):
        return EditResult(name, note=f"the spec does not compile: {errors[0]}")
    change = runner.reload_spec()
    summary = f"{len(change.written)} changed objects"
    return runner.commit_and_wait(
        name, summary, change, _subject(removal, map(key_of, change.written)), deleted=change.pruned
    )


def _subject(removal: Removal, keys: Iterable[ObjectKey]) -> ObjectKey | None:
    """Returns the first key of a protected object of the element, or None."""
    return next((key for key in keys if (key.kind, key.name) in removal.protected), None)


def _other_edits(runner: EditRunner, removal: Removal, state: str) -> Iterator[EditResult]:
    """Runs two edits during the removal: another pool grows, and a manual edit of another object."""
    except_pool = removal.name if removal.kind == "pool" else ""
    yield runner.run_first(f"{removal}, {state}: another pool grows", larger_pools(runner.spec.cluster, except_pool))
    edit = next(sample_manual_edits(runner, except_pool), None)
    if edit is not None:
        yield run_manual_edit(runner, edit, f"{removal}, {state}: manual edit")


def _check_running(runner: EditRunner, name: str, job: RunningJob | str) -> None:
    """Records a failure if the pod of the Job does not run any more.

    If no Job could be started, job is the reason as text, and the function records nothing.
    """
    if isinstance(job, RunningJob) and (problem := job.problem):
        runner.failures.append(Failure("deleted", name, str(job), problem, runner.watch.now))


def _delete_unpruned(
    runner: EditRunner, removal: Removal, unpruned: list[ObjectKey], job: RunningJob | str
) -> EditResult:
    """Deletes the Job, waits until the nodes are deleted, and deletes the objects that Argo CD did not prune.

    The command that lists the objects, and the order of the deletions, are from the cluster's README.
    """
    title = f"unpruned objects of {removal} are deleted"
    notes = []
    if isinstance(job, RunningJob):
        notes.append(f"{job}: {job.problem or 'the pod ran until the Job was deleted'}")
        job.delete()
    if removal.kind == "pool":
        nodes = f"{NODE_POOL}={removal.name}"
        drained = runner.watch.until(lambda: not runner.client.list_all(*CLAIM, labels=nodes), DRAINED_SECONDS)
        after = f"not within {DRAINED_SECONDS} s" if drained is None else f"after {drained:.0f} s"
        notes.append(f"the last node of pool {removal.name} was deleted {after}")
    runner.argocd.refresh(*runner.applications)
    listed = list(unpruned_objects(runner))
    listed_names = {_without_api(key) for key in listed}
    unlisted = [str(key) for key in unpruned if _without_api(key) not in listed_names]
    message = "Argo CD does not report that the object requires pruning"
    runner.failures += [Failure("leftover", runner.name, name, message, runner.watch.now) for name in unlisted]
    started = runner.watch.now
    ranks = {kind: rank for rank, kind in enumerate(DELETION_ORDER)}
    objects = sorted(dict.fromkeys([*listed, *unpruned]), key=lambda key: ranks.get(key.kind, len(ranks)))
    for key in objects:
        if key.kind in ranks:
            runner.client.delete(*key, now=False)

    def all_deleted() -> bool:
        return not any(runner.client.find(*key) for key in objects) and not any(unpruned_objects(runner))

    seconds = runner.watch.until(all_deleted, CLEARED_SECONDS)
    if seconds is None:
        remaining = [key for key in objects if runner.client.find(*key)]
        message = f"still exists {runner.watch.now - started:.0f} s after its deletion"
        runner.failures += [Failure("leftover", runner.name, str(key), message, runner.watch.now) for key in remaining]
    subjects = ", ".join(str(key) for key in listed)
    return EditResult(title, f"{len(listed)} objects", subjects, seconds, CLEARED_SECONDS, note="; ".join(notes))


def unpruned_objects(runner: EditRunner) -> Iterator[ObjectKey]:
    """Yields live objects that are no longer in Git: resources with requiresPruning in the status of an Application."""
    for application in runner.argocd.client.list_all(*APPLICATION, NAMESPACE):
        if application["spec"].get("project") != runner.name:
            continue
        for row in application.get("status", {}).get("resources") or ():
            if row.get("requiresPruning"):
                group = f"{row['group']}/" if row.get("group") else ""
                yield ObjectKey(f"{group}{row['version']}", row["kind"], row["name"], row.get("namespace", ""))


def _without_api(key: ObjectKey) -> tuple[str, str, str]:
    return key.kind, key.namespace, key.name
