from collections import defaultdict

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.refused_workloads import RefusedWorkload, refused_templates


@impact("IMP306", Level.RESTRICTS, source="gpuc trace: benchmarks/trace.md compares its answers with real programs")
def template_refused(change: Change) -> Impacts:
    """A workload template of the state before no longer works.

    Users have copied the files in workloads/. `gpuc trace` passes for the old template in the state before, and fails
    in the state after. The new template may differ: users have to copy it again.
    """
    groups: dict[tuple[str, str], list[RefusedWorkload]] = defaultdict(list)
    for one in refused_templates(change):
        groups[str(one.step.manifest), one.verdict].append(one)
    for (_, verdict), found in groups.items():
        first = found[0]
        verb = "are refused" if verdict == "refused" else "find no node"
        message = f"copies of {', '.join(one.name for one in found)} {verb} now: {first.reason}"
        yield Raised("workload templates", message, first.step.manifest or first.manifest, first.step.path)
