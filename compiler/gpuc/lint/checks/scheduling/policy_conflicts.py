from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from gpuc.admission.gatekeeper import PARAMETERS
from gpuc.admission.policies import Policies
from gpuc.admission.request import Decision, Request
from gpuc.cluster.flavors import ResourceFlavor
from gpuc.cluster.queue import Member
from gpuc.diagnostics.contract import PODS
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts, quantity_text
from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.lint.checks import KUEUE_CONFIGURATION, NAMESPACE_LIMITS, POLICIES, Findings, check, rule_of
from gpuc.lint.checks.scheduling._smallest_pods import smallest_pods
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, grouped
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.created import object_creations, pod_creation
from gpuc.trace.described import described_workload
from gpuc.trace.kueue_scope import manages
from gpuc.trace.workload import Workload

REFUSED = rule_of("SCD008")
WARNED = rule_of("SCD009")
_PERMITTING = {
    "GpucGpuLimits": "limits", "GpucGpuQuota": "pools", "GpucGpuResources": "resources", "GpucPoolSelector": "pools",
    "GpucQueueRequired": "queues",
}  # fmt: skip
"""The parameter of a constraint that permits pods, by the kind of the constraint.

The decisions of these constraints depend only on the queue, the node selector and the resources of a pod. Constraints
of other kinds can permit pods with other fields."""


class _Refusal(NamedTuple):
    """A resource of a flavor that no pod of a LocalQueue's namespace can request, because a constraint is violated."""

    resource: str
    flavor: str
    local: Manifest
    decision: Decision


@check(
    REFUSED, WARNED,
    kinds=("kueue.x-k8s.io/*", *POLICIES, *NAMESPACE_LIMITS, PODS, *KUEUE_CONFIGURATION, "argoproj.io/Application"),
)  # fmt: skip
def policy_conflicts(objects: ObjectSet) -> Findings:
    """Yields a finding for each constraint that refuses a ClusterQueue's smallest pods, if the input is complete."""
    cluster = objects.once(ClusterIndex)
    reported: set[int] = set()
    for queue in cluster.quotas.values() if objects.is_complete else ():
        for refusals in _by_constraint(cluster, queue):
            decision = refusals[0].decision
            assert decision.manifest is not None, "the decision of a constraint names the constraint"
            if id(decision.manifest) not in reported:
                reported.add(id(decision.manifest))
                rule = REFUSED if decision.outcome == "denied" else WARNED
                yield ObjectFinding(rule, decision.manifest, _path(decision.manifest), _message(queue, refusals))


def _by_constraint(cluster: ClusterIndex, queue: Member) -> Iterable[list[_Refusal]]:
    policies = _policies(cluster)
    smallest = smallest_pods(cluster, queue).values()
    refusals = (
        _Refusal(resource, flavor.name, local, decision)
        for local in cluster.queues.local_queues.get(queue.name, ())
        for flavor, pods in smallest
        for resource, pod in pods.items()
        for decision in _violations(cluster, policies, local, flavor, pod)
    )
    return grouped(refusals, lambda refusal: id(refusal.decision.manifest)).values()


@lru_cache(maxsize=1)
def _policies(cluster: ClusterIndex) -> Policies:
    """Returns the policies of the cluster, with the constraints of _PERMITTING only."""
    manifests = [
        manifest
        for manifest in cluster.objects.manifests
        if group(manifest) != CONSTRAINTS or manifest.kind in _PERMITTING
    ]
    return Policies(ObjectSet(manifests, is_complete=cluster.objects.is_complete, values=cluster.objects.values))


def _violations(
    cluster: ClusterIndex, policies: Policies, local: Manifest, flavor: ResourceFlavor, pod: Amounts
) -> list[Decision]:
    """Returns the decisions that deny a pod. Without such decisions, the list has the decisions that warn.

    The list is empty if the pod without a node selector, or the pod that selects the flavor's node pool, has none.
    """
    requests = {name: quantity_text(name, count) for name, count in pod.items()}
    pool = flavor.labels.get(POOL_LABEL)
    choices: list[dict[str, str]] = [{}, {POOL_LABEL: pool}] if pool is not None else [{}]
    found: list[Decision] = []
    for node_labels in choices:
        workload = described_workload(cluster, local.namespace, local.name, requests, node_labels)
        decisions = (row for request in _requests(cluster, workload) for row in policies.decide(request))
        bad = (row for row in decisions if row.outcome in ("denied", "warned"))
        found = [row for row in bad if row.manifest is not None and row.manifest.kind in _PERMITTING]
        if not found:
            break
    return [decision for decision in found if decision.outcome == "denied"] or found


def _requests(cluster: ClusterIndex, workload: Workload) -> Iterator[Request]:
    """Yields the requests that create a Job and its pod; only the pod if Kueue manages other kinds than Job."""
    if manages(cluster, workload.api_group, workload.kind):
        yield from (creation.request for creation in object_creations(workload, (), cluster.accounts))
    pods = workload.pod_sets[0]
    yield pod_creation(workload, pods, (), gated=False, accounts=cluster.accounts).request


def _path(manifest: Manifest) -> Path:
    """Returns the path of the parameter that permits pods; the path of all parameters if the parameter is missing."""
    key = _PERMITTING.get(manifest.kind, "")
    return (*PARAMETERS, key) if dig(manifest.body, *PARAMETERS, key) is not None else PARAMETERS


def _message(queue: Member, refusals: list[_Refusal]) -> str:
    resources = ", ".join(dict.fromkeys(refusal.resource or "cpu and memory" for refusal in refusals))
    flavors = ", ".join(dict.fromkeys(refusal.flavor for refusal in refusals))
    namespaces = ", ".join(dict.fromkeys(refusal.local.namespace for refusal in refusals))
    decision = refusals[0].decision
    result = "is refused" if decision.outcome == "denied" else "gets a warning"
    provided = f"ClusterQueue {queue.name} gives namespace {namespaces} quota for {resources} of flavor {flavors}"
    return f"{provided}, but every pod that requests {resources} {result}: {decision.message}"
