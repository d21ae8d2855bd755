"""Impacts on TrainJobs whose training runtime changes. IMP502 reports a runtime that is removed from Git.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go (ensureOneWorkload,
EquivalentToWorkload), pkg/util/equality/podset.go (comparePodTemplate); kubeflow/trainer v2.3.0
pkg/runtime/framework/plugins/jobset/jobset.go (Build)
"""

from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, impact

_JOBS = ("spec", "template", "spec", "replicatedJobs")
_COMPARED = ("initContainers", "containers")


def _runtimes(change: Change) -> list[Pair]:
    kinds = ("TrainingRuntime", "ClusterTrainingRuntime")
    return [pair for kind in kinds for pair in change.pairs("trainer.kubeflow.org", kind) if pair.changes("spec")]


@impact("IMP264", Level.DISRUPTS)
def runtime_stops_jobs(change: Change) -> Impacts:
    """The containers of a training runtime change, so Kueue stops the running TrainJobs that use this runtime."""
    for pair in _runtimes(change):
        if _containers(pair)[0] != _containers(pair)[1]:
            message = "running TrainJobs are stopped, and start again with the new containers"
            details = (
                "Kueue compares a running TrainJob with its runtime: suspend the jobs after a checkpoint, or add a "
                "runtime with another name",
            )
            path = next(field.path for field in pair.fields if field.is_below(*_JOBS))
            yield pair.raised(message, path, details)


@impact("IMP265", Level.NONE)
def runtime_changes(change: Change) -> Impacts:
    """A training runtime changes, but not its containers, so running TrainJobs continue."""
    for pair in _runtimes(change):
        if _containers(pair)[0] == _containers(pair)[1]:
            message = "TrainJobs that start, or start again after Kueue suspended them, get the change"
            yield pair.raised(message, pair.fields[0].path)


def _containers(pair: Pair) -> tuple[list[object], list[object]]:
    """Returns the containers of all pods before and after the change."""
    found = []
    for jobs in pair.values(*_JOBS):
        pods = [dig(job, "template", "spec", "template", "spec") for _, job in items(jobs)]
        found.append([dig(pod, field) for pod in pods for field in _COMPARED])
    before, after = found
    return before, after
