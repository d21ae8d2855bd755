from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.refused_workloads import by_decision, named, refused_templates


@impact("IMP306", Level.RESTRICTS, source="gpuc trace: benchmarks/trace.md compares its answers with real programs")
def template_refused(change: Change) -> Impacts:
    """Workload templates of the state before no longer work.

    Users have copied the files in workloads/. `gpuc trace` passes for the old template in the state before, and fails
    in the state after. The new template may differ: users have to copy it again.
    """
    for found in by_decision(refused_templates(change)):
        first = found[0]
        names, others = named(found)
        verb = (
            "stay suspended" if first.is_suspended else "are refused" if first.verdict == "refused" else "find no node"
        )
        message = f"copies of {names} {verb} now: {first.reason}"
        yield Raised("workload templates", message, first.step.manifest or first.manifest, first.step.path, others)
