"""The outcomes of nodes, workloads and queues, from recorded objects before and after a change."""

from typing import Any

import pytest

from gpuc_rehearsal.outcome import Outcome
from gpuc_rehearsal.substrates.eks.karpenter import blocked_by
from gpuc_rehearsal.transition.attempts import _is_decided, refusals, to_restart
from gpuc_rehearsal.transition.filling import Filling
from gpuc_rehearsal.transition.outcomes import Attempt, node_outcomes, queue_outcomes, workload_outcomes
from gpuc_rehearsal.transition.snapshot import Snapshot
from gpuc_rehearsal.transition.synced_changes import ObjectKey

Object = dict[str, Any]
NOW = "2026-11-25T16:00:00Z"


def condition(kind: str, status: str = "True", reason: str = "", message: str = "", at: str = NOW) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def document(kind: str, name: str, owner: str = "", conditions: tuple[Object, ...] = (), **fields: Any) -> Object:
    metadata: Object = {"name": name, "namespace": "ns", "uid": f"uid-{name}", **fields.pop("metadata", {})}
    if owner:
        metadata["ownerReferences"] = [{"kind": "Job", "name": owner, "uid": f"uid-{owner}"}]
    status = {**fields.pop("status", {}), "conditions": list(conditions)}
    return {"kind": kind, "metadata": metadata, "status": status, **fields}


def claim(name: str, *conditions: Object, **metadata: Any) -> Object:
    labels = {"gpuc.dev/pool": "h100"}
    metadata = {"namespace": "", "labels": labels, **metadata}
    return document("NodeClaim", name, conditions=conditions, metadata=metadata, status={"nodeName": f"node-{name}"})


def pod(name: str, node: str = "node-a", owner: str = "job") -> Object:
    return document("Pod", name, owner, spec={"nodeName": node}, status={"phase": "Running"})


def event(text: str, time: str, about: str = "a") -> Object:
    event = {"kind": "Event", "metadata": {"name": text, "uid": text}, "reason": "DisruptionBlocked"}
    return event | {"message": text, "lastTimestamp": time, "involvedObject": {"uid": f"uid-{about}"}}


def snapshot(*documents: Object) -> Snapshot:
    kinds = {document["kind"] for document in documents}
    return Snapshot({kind: tuple(document for document in documents if document["kind"] == kind) for kind in kinds})


JOB = document("Job", "job", spec={"suspend": False})
ADMITTED = document(
    "Workload", "job-1", "job", (condition("QuotaReserved"), condition("Admitted")), spec={"queueName": "q"}
)
WORK = Filling(
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {},
    },
    "tenant",
    "queue",
    "h100",
    1,
)
BEFORE = snapshot(JOB, ADMITTED, pod("p"), claim("a"), claim("idle"))


@pytest.mark.parametrize(
    ("after", "outcome", "reason"),
    [
        ((claim("a"),), "kept", ""),
        ((claim("a", condition("Drifted", reason="NodePoolDrifted")),), "waiting", "NodePoolDrifted"),
        ((claim("a", deletionTimestamp=NOW),), "removed", "NodePoolDrifted"),
        ((), "removed", "NodePoolDrifted"),
        ((claim("b"),), "drained", "NodePoolDrifted"),
    ],
)
def test_the_outcome_of_a_node(after: tuple[Object, ...], outcome: str, reason: str) -> None:
    seen = {"a": claim("a", condition("Drifted", reason="NodePoolDrifted"))} if outcome != "kept" else {}
    (row,) = node_outcomes(BEFORE, seen, snapshot(*after), ())
    assert (row.name, row.pool, row.outcome, row.reason) == ("node-a", "h100", outcome, reason)


def test_a_waiting_node_has_the_message_of_the_last_event() -> None:
    drifted = claim("a", condition("Drifted", reason="NodePoolDrifted"))
    events = event("a budget", "2026-11-25T16:00:09Z"), event("nominated", "2026-11-25T16:00:01Z")
    (row,) = node_outcomes(BEFORE, {"a": drifted}, snapshot(drifted, *events), ())
    assert row.reason == "NodePoolDrifted; a budget"


def test_messages_from_before_the_drift_and_about_starts_say_nothing_and_the_budget_does() -> None:
    drifted = claim("a", condition("Drifted", reason="NodePoolDrifted"))
    drifted["metadata"]["labels"]["karpenter.sh/nodepool"] = "h100"
    pool = document("NodePool", "h100", metadata={"namespace": ""})
    events = [
        event("Not all pods would schedule", "2026-11-25T15:59:59Z", "a"),
        event("Node is nominated for a pending pod", "2026-11-25T16:00:01Z", "a"),
        event("No allowed disruptions for disruption reason Empty", "2026-11-25T16:00:02Z", "h100"),
    ]
    budget = event("No allowed disruptions for disruption reason Drifted", "2026-11-25T15:59:01Z", "h100")
    assert blocked_by(snapshot(drifted, pool, *events), drifted) == ""
    assert blocked_by(snapshot(drifted, pool, *events, budget), drifted) == budget["message"]


def test_nodes_without_work_count_only_in_pools_that_always_run() -> None:
    assert len(list(node_outcomes(BEFORE, {}, snapshot(claim("a")), ()))) == 1
    assert [row.outcome for row in node_outcomes(BEFORE, {}, snapshot(claim("a")), ("h100",))] == ["kept", "removed"]


EVICTED = condition("Evicted", reason="Preempted", message="for another", at="2026-11-25T16:05:00Z")
PENDING = condition("QuotaReserved", "False", "Pending", "no quota")


@pytest.mark.parametrize(
    ("after", "outcome", "by", "message"),
    [
        ((JOB, ADMITTED, pod("p")), "kept", "", ""),
        ((JOB, ADMITTED, pod("new")), "drained", "Karpenter", "1 pods were deleted: p"),
        ((), "evicted", "Kubernetes", "Job ns/job was deleted"),
        ((JOB, pod("p")), "evicted", "Kueue", "the Workload was deleted"),
        ((JOB, document("Workload", "job-1", "job", (PENDING, EVICTED))), "evicted", "Kueue", "Preempted: for another"),
        ((JOB, document("Workload", "job-1", "job", (PENDING,))), "evicted", "Kueue", "Pending: no quota"),
        (
            (JOB, document("Workload", "job-1", "job", (condition("Admitted"), EVICTED)), pod("new")),
            "requeued",
            "Kueue",
            "Preempted: for another",
        ),
    ],
)
def test_the_outcome_of_a_workload(after: tuple[Object, ...], outcome: str, by: str, message: str) -> None:
    (row,) = workload_outcomes([WORK], BEFORE, snapshot(*after), {})
    assert (row.outcome, row.by, row.message) == (outcome, by, message)
    assert (row.namespace, row.queue, row.pool) == ("ns", "queue", "h100")


def test_an_attempt_decides_only_about_work_that_still_runs() -> None:
    attempts = {str(WORK): Attempt("waiting", "Kueue", "no  quota")}
    (kept,) = workload_outcomes([WORK], BEFORE, BEFORE, attempts)
    assert (kept.outcome, kept.message) == ("waiting", "no quota")
    (lost,) = workload_outcomes([WORK], BEFORE, snapshot(JOB, ADMITTED), attempts)
    assert lost.outcome == "drained"


def test_work_that_did_not_run_before_has_no_outcome() -> None:
    assert not list(workload_outcomes([WORK], snapshot(JOB, ADMITTED), snapshot(), {}))


def test_queues_count_their_unfinished_workloads() -> None:
    stopped = condition("Active", "False", "Stopped", "is stopped")
    local = document("LocalQueue", "q", conditions=(stopped,))
    gone = document("LocalQueue", "other")
    finished = document("Workload", "done", "", (condition("Finished"),), spec={"queueName": "q"})
    first, second = queue_outcomes(snapshot(gone, local), snapshot(local, ADMITTED, finished))
    assert (first.name, first.outcome, first.workloads) == ("other", "gone", 0)
    assert (second.name, second.outcome, second.message, second.workloads) == (
        "q",
        "inactive",
        "Stopped: is stopped",
        1,
    )


def test_a_refusal_counts_only_if_the_program_did_not_refuse_before() -> None:
    text = str(WORK)
    admitted, by_quota, by_policy = (
        Outcome("admitted"), Outcome("refused", by="quota"), Outcome("refused", by="policy", message="no")
    )  # fmt: skip

    def answer(before: Outcome, after: Outcome) -> dict[str, Attempt]:
        return refusals({(text, "object"): before}, {(text, "object"): after})

    assert answer(admitted, by_policy) == {text: Attempt("refused", "policy", "no")}
    assert answer(by_quota, by_policy) == {text: Attempt("refused", "policy", "no")}
    assert answer(by_policy, by_policy) == {}
    assert answer(by_policy, admitted) == {}


def test_work_without_nodes_is_restarted_if_its_queue_or_its_limits_change() -> None:
    def rest(name: str, namespace: str, queue: str = "") -> Filling:
        labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
        kind = "Job" if queue else "Deployment"
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        return Filling({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {}}, pool="h100")

    first, second, server = rest("a", "ns", "q"), rest("b", "ns", "r"), rest("c", "servers")
    work = [first, second, server, WORK]

    def restarted(kind: str, name: str, namespace: str = "") -> list[list[Filling]]:
        return to_restart(work, [ObjectKey("v1", kind, name, namespace)])

    assert restarted("ClusterQueue", "q") == [[first]]
    assert restarted("LocalQueue", "r", "ns") == [[second]]
    assert restarted("ResourceFlavor", "h100") == [[first], [second]]
    assert restarted("Cohort", "any") == [[first], [second]]
    assert restarted("ResourceQuota", "gpuc", "servers") == [[server]]
    assert restarted("NodePool", "h100") == []


def test_a_wait_is_final_when_the_answer_repeats_and_nothing_is_preempted() -> None:
    waits, preempts = Attempt("waiting", "Kueue", "no quota"), Attempt("waiting", "Kueue", "Preempting 1 workload")
    assert not _is_decided([])
    assert not _is_decided([waits] * 3)
    assert _is_decided([waits] * 4)
    assert not _is_decided([preempts] * 9)
    assert not _is_decided([Attempt("waiting", "Kueue", "")] * 9)
    assert _is_decided([waits, Attempt("kept")])
