"""Compares the predictions of gpuc plan with what a transition shows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc.plan.impact import Impact
from gpuc_rehearsal.transition.filling import Filling
from gpuc_rehearsal.transition.result import Observed, name_of

AGREES, DISAGREES, NOT_SIMULATED = "agree", "disagree", "not simulated"
NOT_COMPILED, FAILED = "does not compile", "failed"
PERHAPS_REPLACED = "perhaps replaced"
"""A prediction that the control plane need not show: it depends on the instance types and zones of the nodes."""
_COVERING = {
    "replaced": ("replaced", "removed", PERHAPS_REPLACED),
    "removed": ("removed", "replaced", PERHAPS_REPLACED),
    "evicted": ("evicted", "requeued"),
    "requeued": ("requeued", "evicted"),
    "refused": ("refused", "perhaps refused", "waiting"),
    "waiting": ("waiting", "refused", "perhaps waiting"),
    "inactive": ("inactive",),
    "pruned": ("pruned",),
    "left": ("left",),
    "active": ("active",),
}
"""By observed outcome: the predicted outcomes that describe it. A refusal and a wait describe one another, because a
workload that waits forever and a workload that is refused differ only in the program that answers."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A disturbance that the control plane showed."""

    subjects: tuple[str, ...]
    """The subjects of predictions that name it."""
    outcome: str
    message: str
    must_be_predicted: bool = True

    def __str__(self) -> str:
        return f"{self.subjects[0]}: {self.outcome} ({self.message})"


@dataclass
class Comparison:
    """The comparison of one edit."""

    verdict: str
    impacts: list[str] = field(default_factory=list)
    """The ids of the impacts, each once."""
    shown: set[str] = field(default_factory=set)
    """The ids of the impacts with a prediction that the control plane showed."""
    problems: list[str] = field(default_factory=list)
    """Disturbances without a prediction, and predictions that the control plane did not show."""
    not_simulated: list[str] = field(default_factory=list)


def compare(
    impacts: Sequence[Impact],
    observations: Sequence[Observation],
    before: CompiledSpec,
    after: CompiledSpec,
    work: Sequence[Filling],
) -> Comparison:
    """Compares the impacts of a change with what happened."""
    predictions = [(impact.id, prediction) for impact in impacts for prediction in impact.predicts]
    result = Comparison(AGREES, list(dict.fromkeys(impact.id for impact in impacts)))
    for observation in observations:
        covering = _COVERING[observation.outcome]
        if observation.must_be_predicted and not any(
            p.subject in observation.subjects and p.outcome in covering for _, p in predictions
        ):
            result.problems.append(f"no impact predicts {observation}")
    for id_, prediction in predictions:
        if any(
            prediction.subject in observation.subjects and prediction.outcome in _COVERING[observation.outcome]
            for observation in observations
        ):
            result.shown.add(id_)
            continue
        if prediction.outcome == PERHAPS_REPLACED:
            continue
        text = f"{id_} predicts {prediction.subject}: {prediction.outcome}"
        reason = _not_shown(prediction.subject, prediction.outcome, before, after, work)
        if (
            not reason
            and prediction.outcome in ("refused", "waiting")
            and _is_evicted(prediction.subject, observations)
        ):
            reason = "another impact evicts the work, so that it is not created anew"
        (result.not_simulated if reason else result.problems).append(
            f"{text}: {reason}" if reason else f"not seen: {text}"
        )
    if result.problems:
        result.verdict = DISAGREES
    elif result.not_simulated and not observations:
        result.verdict = NOT_SIMULATED
    return result


def observations_of(observed: Observed, before: Cluster, after: Cluster) -> list[Observation]:
    """Returns the disturbances of a transition without duplicates."""
    return list(dict.fromkeys(_observations(observed, before, after)))


def _observations(observed: Observed, before: Cluster, after: Cluster) -> Iterator[Observation]:
    for node in observed.nodes:
        if node.outcome != "kept":
            outcome = "removed" if node.outcome == "removed" else "replaced"
            yield Observation((f"nodes of pool {node.pool}",), outcome, node.reason.partition(";")[0])
    for workload in observed.workloads:
        if workload.outcome != "kept":
            queue = (f"workloads of queue {workload.queue}",) if workload.queue else ()
            subjects = (*queue, f"workloads of namespace {workload.namespace}")
            outcome = "evicted" if workload.outcome == "drained" else workload.outcome
            yield Observation(subjects, outcome, f"{workload.by}, pool {workload.pool}: {workload.message[:150]}")
    for changed in observed.objects:
        if changed.outcome != "applied":
            yield Observation(
                (f"object {name_of(changed)}",), changed.outcome, changed.message[:150], changed.outcome == "refused"
            )
    names = {
        part.name: queue.name
        for cluster in (before, after)
        for queue in cluster.queues
        for part in queue.cluster_queues
    }
    for row in observed.queues:
        if row.outcome == "inactive":
            subjects = (f"queue {names.get(row.name, row.name)}", f"queue {row.name}")
            yield Observation(tuple(dict.fromkeys(subjects)), "inactive", f"{row.kind}: {row.message[:150]}")


def _not_shown(subject: str, outcome: str, before: CompiledSpec, after: CompiledSpec, work: Iterable[Filling]) -> str:
    """Returns why a control plane without AWS cannot show a prediction; empty if it can."""
    if outcome.startswith("perhaps "):
        return "it depends on the nodes, on the work or on other queues"
    kind, _, name = subject.rpartition(" ")
    fillings = list(work)
    if kind == "nodes of pool":
        if not any(filling.pool == name and filling.pods for filling in fillings) and not _always_running(before, name):
            return "no node of the pool runs"
        if outcome in ("replaced", "removed") and _node_class(before, name) != _node_class(after, name):
            return "only the EC2NodeClass changes, and no controller reads it"
    if kind == "workloads of queue" and not any(filling.queue == name for filling in fillings):
        return "no work runs in the queue"
    if kind == "workloads of namespace" and not any(filling.namespace == name for filling in fillings):
        return "no work runs in the namespace"
    return ""


def _is_evicted(subject: str, observations: Iterable[Observation]) -> bool:
    return any(
        subject in observation.subjects and observation.outcome in ("evicted", "requeued")
        for observation in observations
    )


def _always_running(spec: CompiledSpec, name: str) -> bool:
    return any(pool.name == name and pool.always_running for pool in spec.cluster.pools)


def _node_class(spec: CompiledSpec, name: str) -> object:
    return next(
        (manifest.document() for manifest in spec.synced if manifest.kind == "EC2NodeClass" and manifest.name == name),
        None,
    )
