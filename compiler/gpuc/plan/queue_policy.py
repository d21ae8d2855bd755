"""What happens to a new workload that names a LocalQueue or a WorkloadPriorityClass that does not exist."""

from __future__ import annotations

from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.kubernetes.selector import matches
from gpuc.objects.object_set import dig
from gpuc.objects.selectors import selector
from gpuc.plan.change import Change

_KIND = "GpucQueueRequired"


def outcome_without_queue(change: Change, namespace: str) -> str:
    """Returns "refused" if the policy queue-required denies such workloads in a namespace after the change.

    Otherwise Kueue creates a Workload that it never admits, and the result is "waiting".
    """
    labels = change.after.objects.namespaces.get(namespace) or change.before.objects.namespaces.get(namespace, {})
    for constraint in change.after.objects.of(CONSTRAINTS, _KIND):
        is_selected = matches(selector(dig(constraint.body, "spec", "match", "namespaceSelector") or {}), labels)
        if is_selected and dig(constraint.body, "spec", "enforcementAction") == "deny":
            return "refused"
    return "waiting"
