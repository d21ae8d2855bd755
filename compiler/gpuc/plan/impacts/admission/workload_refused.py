from gpuc.plan.change import Change, grouped
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.refused_workloads import RefusedWorkload, by_decision, named, refused_workloads


@impact("IMP305", Level.RESTRICTS, source="gpuc trace: benchmarks/trace.md compares its answers with real programs")
def workload_refused(change: Change) -> Impacts:
    """Workloads of --workloads would not start again.

    `gpuc trace` passes in the state before and fails in the state after. The pods that run continue. After an
    eviction, the loss of a node or a new rollout, the workload has no pods.
    """
    workloads = refused_workloads(change)
    for namespace, refused in grouped(workloads, lambda workload: workload.manifest.namespace).items():
        for found in by_decision(refused):
            yield _raised(namespace, found)


def _raised(namespace: str, found: list[RefusedWorkload]) -> Raised:
    """Returns the impact of the workloads of a namespace with the same decision."""
    first = found[0]
    names, others = named(found)
    is_refused = first.verdict == "refused"
    verb = "would be refused if created again" if is_refused else "would find no node if started again"
    if first.is_suspended:
        verb = "would stay suspended if created again"
    predicts = (Prediction(f"workloads of namespace {namespace}", "refused"),) if is_refused else ()
    message = f"{names} {verb}: {first.reason}"
    return Raised(f"namespace {namespace}", message, first.step.manifest, first.step.path, others, predicts)
