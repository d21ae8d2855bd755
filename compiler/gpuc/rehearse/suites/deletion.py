"""Test cases for the grace period with which a member deletes pods."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpuc.emit.pod_deletion import GPU_QUOTA, NAME, grace_limits
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.outcome import Outcome, classify_response
from gpuc.rehearse.sample_workloads import WorkloadFactory, distinct_factories
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.policies import ADMITTED, origin, policy_outcome

SUITE = "deletion"
NODE = "gpuc-rehearsal-no-node"
"""The node of the pods. It does not exist, so no kubelet ends the pods."""
SCHEDULER = "gpuc-rehearsal-no-scheduler"
YEAR_SECONDS = 31_536_000
LABEL = "gpuc-rehearsal"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Deletion:
    """A request to delete a pod, or all pods with the label of the test case."""

    name: str
    requested: int | None
    """Grace period of the request in seconds; None for a request without a grace period."""
    is_above: bool = False
    """Whether the grace period is above the limit."""
    of_pod: int | None = None
    """Grace period of the pod in seconds; None for the default."""
    selects: bool = False
    """Whether the request selects pods by label, instead of one pod by name."""


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields requests of members to delete pods, for the namespaces that differ in pools."""
    cluster = spec.cluster
    for factory in distinct_factories(cluster):
        groups = factory.tenant.groups_by_role(factory.namespace)
        editors = (*groups.get("edit", ()), *groups.get("admin", ()))
        if not editors:
            continue
        for deletion in _deletions(grace_limits(cluster)[factory.tenant.name]):
            above = policy_outcome(cluster.policy_stage(GPU_QUOTA), NAME)
            expected = above if deletion.is_above else ADMITTED
            name = f"{factory.namespace.name} {deletion.name}"
            action = _delete(factory, deletion, editors[0])
            yield Case(SUITE, name, origin(cluster, GPU_QUOTA), expected, action, request=name, batch="counted")


def _deletions(limit: int) -> Iterator[Deletion]:
    above, slow = limit + 1, limit + 1000
    yield Deletion("pod deleted in a year", YEAR_SECONDS, is_above=True)
    yield Deletion("pod deleted above the limit", above, is_above=True)
    yield Deletion("pod deleted within the limit", limit)
    yield Deletion("pod deleted at once", 0)
    yield Deletion("pod deleted", None)
    yield Deletion("slow pod deleted", None, of_pod=slow)
    yield Deletion("slow pod deleted within its own period", slow, of_pod=slow)
    yield Deletion("slow pod deleted above its own period", slow + 1, is_above=True, of_pod=slow)
    yield Deletion("all pods deleted above the limit", above, is_above=True, selects=True)
    yield Deletion("all pods deleted within the limit", limit, selects=True)
    yield Deletion("all slow pods deleted", None, of_pod=slow, selects=True)


def _delete(factory: WorkloadFactory, deletion: Deletion, group: str) -> Callable[[RehearsalContext], Outcome]:
    """Returns an action that deletes a pod with a node, as a member of a group. The deletion is a dry run."""
    pod = factory.pod(deletion.name.replace(" ", "-"))
    pod["metadata"]["labels"] = {LABEL: pod["metadata"]["name"]}
    pod["spec"]["schedulerName"] = SCHEDULER
    if deletion.of_pod is not None:
        pod["spec"]["terminationGracePeriodSeconds"] = deletion.of_pod
    options: Object = {"dryRun": ["All"]}
    if deletion.requested is not None:
        options["gracePeriodSeconds"] = deletion.requested
    user = f"member-of-{factory.tenant.name}"

    def action(context: RehearsalContext) -> Outcome:
        metadata = context.client.create(pod)["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        try:
            _bind(context.client, metadata)
            member = context.client.impersonate(user, group)
            one, many = member.path("v1", "Pod", namespace, name), member.path("v1", "Pod", namespace)
            address = f"{many}?labelSelector={LABEL}={name}" if deletion.selects else one
            return classify_response(member, lambda: member.send("DELETE", address, json.dumps(options).encode(), JSON))
        finally:
            context.client.delete("v1", "Pod", name, namespace)

    return action


def _bind(client: Client, metadata: Object) -> None:
    """Binds a pod to a node, like a scheduler. The API server ignores the grace period of a pod without a node."""
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": metadata["name"]}, "target": target}
    path = client.path("v1", "Pod", metadata["namespace"], metadata["name"], "binding")
    client.send("POST", path, json.dumps(binding).encode(), JSON)
