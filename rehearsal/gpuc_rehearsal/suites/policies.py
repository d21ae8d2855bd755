"""Test cases for policies: the API server decides requests with the policies that Gatekeeper generates.

The examples of a policy folder run with their own parameters, in separate namespaces where no other policy applies. The
constraints of the cluster are tested in every tenant namespace, with objects that are generated from the model. All
requests are dry runs, so no object is stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.emit.pod_deletion import GPU_QUOTA, NAME, grace_limits
from gpuc.emit.workloads import workloads
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.examples import Example
from gpuc_rehearsal.outcome import NO_OBJECTION, Outcome, classify_response, dry_run
from gpuc_rehearsal.sample_namespaces import SampleNamespaces, constraint_name
from gpuc_rehearsal.sample_workloads import (
    SampleObject,
    WorkloadFactory,
    creator,
    distinct_factories,
    factories,
    permitted_samples,
)
from gpuc_rehearsal.suites import Case
from gpuc_rehearsal.violations import violations

SUITE = "policies"
PLATFORM = "kube-system"
DECIDED_BY_USER = ("gpu-quota", "queue-required")
"""Policies that decide by the user of a request."""
ADMITTED = Outcome("admitted", message=NO_OBJECTION)
NODE = "gpuc-rehearsal-no-node"
"""The node of the pods. It does not exist, so no kubelet ends the pods."""
SCHEDULER = "gpuc-rehearsal-no-scheduler"
YEAR_SECONDS = 31_536_000
LABEL = "gpuc-rehearsal"
JSON = "application/json"


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for examples, for tenant and platform namespaces, and for the compiled workload templates."""
    cluster = spec.cluster
    namespaces = SampleNamespaces(cluster)
    yield from _example_cases(cluster, namespaces)
    for factory in factories(cluster):
        yield from _tenant_cases(factory, namespaces)
    yield from _platform_cases(cluster, namespaces)
    for template in workloads(cluster):
        if isinstance(template, Manifest):
            name = f"template {template.file.rpartition('/')[2]} {template}"
            action = _create_action(namespaces, template.document(), ignored=fleet_warnings(cluster))
            yield Case(SUITE, name, template.origin, ADMITTED, action, request=f"template {template}")


def _example_cases(cluster: Cluster, namespaces: SampleNamespaces) -> Iterator[Case]:
    for name, served in namespaces.examples.items():
        for example in served:
            title = f"{name} {'denied' if example.denied else 'allowed'} example: {example.title}"
            expected = _expected_for_example(name, example)
            action = _example_action(namespaces, example)
            yield Case(SUITE, title, origin(cluster, name), expected, action, request=title)


def _expected_for_example(name: str, example: Example) -> Outcome:
    if example.api_server_refusal:
        return Outcome("refused", by="API server", message=example.api_server_refusal)
    if example.denied:
        return Outcome("refused", by="policy", message=constraint_name(name))
    if example.before is not None and example.document["kind"] == "Job":
        return Outcome("admitted")  # the webhook checks the future pods of a Job as new pods, and may warn
    return ADMITTED


def _example_action(namespaces: SampleNamespaces, example: Example) -> Callable[[RehearsalContext], Outcome]:
    def action(context: RehearsalContext) -> Outcome:
        namespaces.prepare(context)
        client = context.client.with_user(example.user)
        return classify_response(client, lambda: namespaces.send(client, example))

    return action


def _tenant_cases(factory: WorkloadFactory, namespaces: SampleNamespaces) -> Iterator[Case]:
    for sample in (*permitted_samples(factory), *violations(factory)):
        if sample.policy and sample.policy not in namespaces.emitted:
            continue
        name = f"{factory.namespace.name} {sample.policy or 'permitted'}: {sample.name}"
        path = origin(factory.cluster, sample.policy) if sample.policy else factory.namespace.path
        expected = _expected(factory, sample)
        ignored = fleet_warnings(factory.cluster, sample.policy)
        # A policy that decides by the user tests a member of the tenant instead of the creator in a cluster.
        user = "" if sample.policy in DECIDED_BY_USER else creator(factory, sample.document)
        action = _create_action(namespaces, sample.document, user, ignored)
        request = f"{factory.namespace.name}: {sample.name}"
        yield Case(SUITE, name, path, expected, action, pool=sample.pool, request=request)


def _platform_cases(cluster: Cluster, namespaces: SampleNamespaces) -> Iterator[Case]:
    """Yields, for each policy, an object that the policy denies to tenants and allows in a platform namespace."""
    tested: set[str] = set()
    for sample in (sample for factory in factories(cluster) for sample in violations(factory)):
        if sample.policy in namespaces.emitted and sample.policy not in tested:
            tested.add(sample.policy)
            document = {**sample.document, "metadata": {**sample.document["metadata"], "namespace": PLATFORM}}
            name = f"{PLATFORM} {sample.policy}: {sample.name}"
            action, request = _create_action(namespaces, document), f"{PLATFORM}: {sample.name}"
            yield Case(SUITE, name, origin(cluster, sample.policy), ADMITTED, action, request=request)


def _expected(factory: WorkloadFactory, sample: SampleObject) -> Outcome:
    """Returns the expected outcome. The API server checks Pod Security first, then policies, then ResourceQuotas."""
    pod_security = factory.namespace.spec.pod_security
    if sample.breaks_baseline and pod_security != "privileged":
        return Outcome("refused", by="API server", message=f'violates PodSecurity "{pod_security}')
    stage = factory.cluster.policy_stage(sample.policy) if sample.policy else ""
    constraint = emitted_name(factory, sample.policy) if sample.policy else ""
    if stage == "deny":
        return policy_outcome(stage, constraint)
    metered = {name for pool in factory.cluster.pools for name in pool.advertised_names}
    quota = factory.namespace.hard
    if any(name in metered and amount > quota.get(name, 0) for name, amount in sample.devices.items()):
        return Outcome("refused", by="quota", message="exceeded quota: gpuc")
    return policy_outcome(stage, constraint) if stage == "warn" else ADMITTED


def policy_outcome(stage: str, message: str) -> Outcome:
    """Returns the outcome of a request that a policy forbids, by the stage of the policy."""
    if stage == "deny":
        return Outcome("refused", by="policy", message=message)
    return Outcome("admitted", by="policy", message=message) if stage == "warn" else Outcome("admitted")


def emitted_name(factory: WorkloadFactory, policy: str) -> str:
    """Returns the name of the policy's constraint that applies to the tenant's namespaces."""
    return f"{policy}-{factory.tenant.name}" if factory.cluster.policies[policy].is_per_tenant else policy


def origin(cluster: Cluster, policy: str) -> Path:
    """Returns the spec path of a policy's stage, or of the default stage if the spec does not name the policy."""
    return ("spec", "policies", policy if policy in cluster.policy_specs else "default")


def fleet_warnings(cluster: Cluster, tested: str = "") -> tuple[str, ...]:
    """Returns the texts that name the policies of the fleet with the stage warn in their warnings.

    gpuc generates objects that follow its own policies. A policy of the fleet may warn about these objects, for example
    because it requires an annotation.

    Args:
        tested: the policy that the object violates; its warnings count.
    """
    texts: list[str] = []
    for policy in cluster.policies.values():
        if policy.own_examples is not None and policy.name != tested and cluster.policy_stage(policy.name) == "warn":
            tenants = [f"-{tenant.name}" for tenant in cluster.tenants] if policy.is_per_tenant else [""]
            texts += [f"[{policy.name}{tenant}] " for tenant in tenants]  # the webhook
            texts.append(f"ValidatingAdmissionPolicy 'gatekeeper-{policy.kind.lower()}'")
    return tuple(texts)


def _create_action(
    namespaces: SampleNamespaces, document: Object, user: str = "", ignored: tuple[str, ...] = ()
) -> Callable[[RehearsalContext], Outcome]:
    def action(context: RehearsalContext) -> Outcome:
        namespaces.prepare(context)
        client = context.client.with_user(user)
        return dry_run(client, document, ignored)

    return action


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


def deletion(spec: CompiledSpec) -> Iterator[Case]:
    """Yields requests of members to delete pods, for the namespaces that differ in pools."""
    cluster = spec.cluster
    for factory in distinct_factories(cluster):
        editors = factory.tenant.editors(factory.namespace)
        if not editors:
            continue
        for deletion in _deletions(grace_limits(cluster)[factory.tenant.name]):
            above = policy_outcome(cluster.policy_stage(GPU_QUOTA), NAME)
            expected = above if deletion.is_above else ADMITTED
            name = f"{factory.namespace.name} {deletion.name}"
            action = _delete(factory, deletion, editors[0])
            yield Case("deletion", name, origin(cluster, GPU_QUOTA), expected, action, request=name, batch="counted")


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
