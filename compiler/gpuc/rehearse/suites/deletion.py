"""Test cases for the grace period with which a member deletes pods."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from gpuc.emit.pod_deletion import GPU_QUOTA, NAME
from gpuc.emit.policy_facts import FACTS
from gpuc.model import Cluster
from gpuc.rehearse.classify_response import NO_OBJECTION, classify_response
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.sample_workloads import WorkloadFactory, distinct_factories
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.policies import origin

SUITE = "deletion"
NODE = "gpuc-rehearsal-no-node"
"""The node of the pods. It does not exist, so no kubelet ends the pods."""
SCHEDULER = "gpuc-rehearsal-no-scheduler"
YEAR_SECONDS = 31_536_000
JSON = "application/json"


def cases(cluster: Cluster) -> Iterator[Case]:
    """Yields requests of members to delete pods, for the namespaces that differ in pools."""
    for factory in distinct_factories(cluster):
        if factory.tenant.spec.members.role == "view":
            continue
        limit = FACTS["tenant.grace_seconds"](cluster, factory.tenant)
        above, within = _above_limit(cluster), Outcome("admitted", message=NO_OBJECTION)
        slow = limit + 1000
        for title, own, requested, all_pods, expected in (
            ("above the limit", None, limit + 1, False, above),
            ("of a year", None, YEAR_SECONDS, False, above),
            ("of the limit", None, limit, False, within),
            ("of zero seconds", None, 0, False, within),
            ("not in the request", None, None, False, within),
            ("not in the request, of a pod with a longer period", slow, None, False, within),
            ("above that of a pod with a longer period", slow, slow + 1, False, above),
            ("of a year for all pods with a label", None, YEAR_SECONDS, True, above),
            ("not in the request for all pods with a label", slow, None, True, within),
        ):
            name = f"{factory.namespace.name} deletion with a grace period {title}"
            action = _delete(factory, name, own, requested, all_pods)
            yield Case(SUITE, name, origin(cluster, GPU_QUOTA), expected, action, request=name, batch="counted")


def _above_limit(cluster: Cluster) -> Outcome:
    stage = cluster.policy_stage(GPU_QUOTA)
    if stage == "deny":
        return Outcome("refused", by="policy", message=NAME)
    return Outcome("admitted", by="policy", message=NAME) if stage == "warn" else Outcome("admitted")


def _delete(
    factory: WorkloadFactory, name: str, own: int | None, requested: int | None, all_pods: bool
) -> Callable[[RehearsalContext], Outcome]:
    """Returns an action that deletes a pod with a node, as a member. The deletion is a dry run.

    Args:
        name: the name of the test case.
        own: the grace period of the pod in seconds; None for the default.
        requested: the grace period of the request; None for a request without a grace period.
        all_pods: whether the request selects pods by label, instead of one pod by name.
    """
    suffix = "-".join(name.replace(",", "").split()[5:])
    pod = factory.pod(f"deletion-{suffix}"[:63].rstrip("-"))
    pod["metadata"]["labels"] = {"gpuc-rehearsal": pod["metadata"]["name"]}
    pod["spec"]["schedulerName"] = SCHEDULER
    if own is not None:
        pod["spec"]["terminationGracePeriodSeconds"] = own
    options: Object = {"dryRun": ["All"]} | ({} if requested is None else {"gracePeriodSeconds": requested})
    group = factory.tenant.spec.members.groups[0]

    def action(context: RehearsalContext) -> Outcome:
        created = context.client.create(pod)["metadata"]
        try:
            _bind(context.client, created)
            member = context.client.impersonate(f"member-of-{factory.tenant.name}", group)
            path = member.path("v1", "Pod", created["namespace"], "" if all_pods else created["name"])
            query = f"?labelSelector=gpuc-rehearsal={created['name']}" if all_pods else ""
            body = json.dumps(options).encode()
            return classify_response(member, lambda: member.send("DELETE", path + query, body, JSON))
        finally:
            context.client.delete("v1", "Pod", created["name"], created["namespace"])

    return action


def _bind(client: Client, metadata: Object) -> None:
    """Binds a pod to a node, like a scheduler. The API server ignores the grace period of a pod without a node."""
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": metadata["name"]}, "target": target}
    path = client.path("v1", "Pod", metadata["namespace"], metadata["name"], "binding")
    client.send("POST", path, json.dumps(binding).encode(), JSON)
