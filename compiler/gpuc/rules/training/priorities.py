"""Rules about priorities: which tenants may use them, and names that Kubernetes reserves."""

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


@rule("TRN106")
def priority_of_others(cluster: Cluster) -> Findings:
    """A training runtime has a priority that its tenant may not use."""
    for tenant in cluster.tenants:
        allowed = cluster.priorities_of(tenant.name)
        for run in tenant.runs:
            if run.spec.priority is not None and run.spec.priority not in allowed:
                priority, known = run.spec.priority, ", ".join(allowed) or "none"
                message = f"training runtime {run.name} of tenant {tenant.name} has priority {priority}"
                place: tuple[str, ...] = ("spec", "priorities", priority, "tenants")
                related = [Related(f"the tenants of priority {priority}", place)]
                fix = f"add {tenant.name} to tenants of priority {priority}"
                message = f"{message}, which it may not use; allowed are {known}"
                yield Found((*run.path, "priority"), message, fix, related)


@rule("TRN107")
def priority_of_the_system(cluster: Cluster) -> Findings:
    """A priority of pods has a name that Kubernetes reserves for system components."""
    for name, priority in cluster.spec.priorities.items():
        if priority.pods and name.startswith("system-"):
            message = f"priority {name} has pods: true; Kubernetes reserves PriorityClasses that begin with system-"
            yield Found(("spec", "priorities", name), message, on_key=True)
