from gpuc.diagnostics.words import kind_of
from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.tenant_changes import tenant_of


@impact("IMP255", Level.DISRUPTS, source="kueue v0.19.2 pkg/scheduler/scheduler.go, nominate: ValidateAdmissibility")
def namespace_moves(change: Change) -> Impacts:
    """A namespace moves to another tenant.

    The members of the old tenant lose access, and the members of the new tenant get access to everything in the
    namespace, also to Secrets and volumes. Queues of the old tenant admit no workload of the namespace any more, except
    queues that move with the namespace.
    """
    for pair in change.pairs("", "Namespace"):
        before, after = tenant_of(pair, 0), tenant_of(pair, 1)
        if pair.is_changed and before and after and before != after:
            message = (
                f"moves from tenant {before} to tenant {after}: the members of {after} get access to everything in it"
            )
            details = (
                f"workloads that run continue{_waiting(change, pair.name)}",
                "pods that run keep the labels, tolerations and network connections that they have",
            )
            yield Raised(f"namespace {pair.name}", message, pair.after, (), details)


def _waiting(change: Change, namespace: str) -> str:
    """Returns what happens to the workloads that wait in queues which do not move with the namespace."""
    local_queues = (pair for pair in change.pairs(GROUP, "LocalQueue") if pair.manifest.namespace == namespace)
    places = {pair.name: pair.values("spec", "clusterQueue") for pair in local_queues}
    lost = sorted(name for name, (before, after) in places.items() if before is not None and before != after)
    return f"; workloads that wait in {kind_of(lost, 'queue')} of the old tenant are not admitted" if lost else ""
