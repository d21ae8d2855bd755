from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.refused_workloads import refused_workloads


@impact("IMP305", Level.RESTRICTS, source="gpuc trace: benchmarks/trace.md compares its answers with real programs")
def workload_refused(change: Change) -> Impacts:
    """A workload of --workloads would not start again.

    `gpuc trace` passes in the state before and fails in the state after. The pods that run continue. After an
    eviction, the loss of a node or a new rollout, the workload has no pods.
    """
    for one in refused_workloads(change):
        verb = "would be refused" if one.verdict == "refused" else "would find no node"
        message = f"{verb} if it started again: {one.reason}"
        namespace = one.manifest.namespace
        predicts = (Prediction(f"workloads of namespace {namespace}", "refused"),) if one.verdict == "refused" else ()
        yield Raised(one.name, message, one.step.manifest, one.step.path, predicts=predicts)
