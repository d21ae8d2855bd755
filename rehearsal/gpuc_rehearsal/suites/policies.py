"""Test cases for policies, which the API server enforces with the objects that Gatekeeper generates.

The examples in the folder of a policy run in separate namespaces, where no other policy applies. Other test cases
create objects in every tenant namespace, where the policies of the cluster apply. All requests are dry runs, so no
object is stored.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.emit.pod_deletion import GPU_QUOTA, NAME, grace_limits
from gpuc.emit.workloads import workloads
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.objects.object_set import group
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.client import Client, new_object
from gpuc_rehearsal.context import POD, RehearsalContext
from gpuc_rehearsal.examples import Example
from gpuc_rehearsal.exposed_samples import granted_samples, is_of_members
from gpuc_rehearsal.outcome import NO_OBJECTION, Outcome
from gpuc_rehearsal.sample_namespaces import SampleNamespaces, constraint_name
from gpuc_rehearsal.sample_workloads import (
    SampleObject,
    WorkloadFactory,
    creator,
    distinct_factories,
    factories,
    permitted_samples,
)
from gpuc_rehearsal.suites import Action, Case, creation, sending
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


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases: the examples of policies, objects of tenants and of the platform, and workload templates."""
    cluster = spec.cluster
    namespaces = SampleNamespaces(cluster)
    yield from _example_cases(cluster, namespaces)
    for factory in factories(cluster):
        yield from _tenant_cases(factory, namespaces)
    yield from _platform_cases(cluster, namespaces)
    for template in workloads(cluster):
        if isinstance(template, Manifest) and namespaces.serves_group(group(template)):
            name = f"template {template.file.rpartition('/')[2]} {template}"
            action = _prepared(namespaces, creation(template.document(), ignored=fleet_warnings(cluster)))
            yield Case(SUITE, name, template.origin, ADMITTED, action, request=f"template {template}")


def _example_cases(cluster: Cluster, namespaces: SampleNamespaces) -> Iterator[Case]:
    for name, served in namespaces.examples.items():
        for example in served:
            title = f"{name} {'denied' if example.denied else 'allowed'} example: {example.title}"
            action = _prepared(namespaces, sending(partial(namespaces.send, example), example.user))
            expected = _expected_for_example(name, example)
            yield Case(SUITE, title, origin(cluster, name), expected, action)


def _expected_for_example(name: str, example: Example) -> Outcome:
    if example.api_server_refusal:
        return Outcome("refused", by="API server", message=example.api_server_refusal)
    if example.denied:
        return Outcome("refused", by="policy", message=constraint_name(name))
    if example.before is not None and example.document["kind"] == "Job":
        return Outcome("admitted")  # the webhook checks the future pods of a Job as new pods, and may warn
    return ADMITTED


def _prepared(namespaces: SampleNamespaces, action: Action) -> Action:
    """Returns an action that first creates the namespaces of all examples, if they do not exist."""

    def prepared(context: RehearsalContext) -> Outcome:
        namespaces.prepare(context)
        return action(context)

    return prepared


def _tenant_cases(factory: WorkloadFactory, namespaces: SampleNamespaces) -> Iterator[Case]:
    for sample in (*permitted_samples(factory), *granted_samples(factory), *violations(factory)):
        if sample.policy and sample.policy not in namespaces.emitted:
            continue
        name = f"{factory.namespace.name} {sample.policy or 'permitted'}: {sample.name}"
        path = origin(factory.cluster, sample.policy) if sample.policy else factory.namespace.path
        action = _creation(factory, sample)
        expected, request = _expected(factory, sample), f"{factory.namespace.name}: {sample.name}"
        yield Case(SUITE, name, path, expected, _prepared(namespaces, action), pool=sample.pool, request=request)


def _creation(factory: WorkloadFactory, sample: SampleObject) -> Action:
    """Returns the creation of an object: by a member if the object receives traffic and the role of members allows it.

    A policy that decides by the user tests an administrator instead of the creator in a cluster.
    """
    ignored, editors = fleet_warnings(factory.cluster, sample.policy), factory.tenant.editors(factory.namespace)
    if editors and is_of_members(factory.namespace, sample.document):
        member = f"member-of-{factory.tenant.name}"
        return sending(lambda client: client.create(sample.document, dry_run=True), member, editors[0], ignored)
    user = "" if sample.policy in DECIDED_BY_USER else creator(factory, sample.document)
    return creation(sample.document, user, ignored)


def _platform_cases(cluster: Cluster, namespaces: SampleNamespaces) -> Iterator[Case]:
    """Yields a test case for each policy, with an object that is denied to tenants and allowed to the platform."""
    tested: set[str] = set()
    for sample in (sample for factory in factories(cluster) for sample in violations(factory)):
        if sample.policy in namespaces.emitted and sample.policy not in tested:
            tested.add(sample.policy)
            document = {**sample.document, "metadata": {**sample.document["metadata"], "namespace": PLATFORM}}
            name = f"{PLATFORM} {sample.policy}: {sample.name}"
            action, request = _prepared(namespaces, creation(document)), f"{PLATFORM}: {sample.name}"
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
    """Returns the outcome if an object violates a policy: refused (stage deny), or admitted (warn and dryrun)."""
    if stage == "deny":
        return Outcome("refused", by="policy", message=message)
    return Outcome("admitted", by="policy", message=message) if stage == "warn" else Outcome("admitted")


def emitted_name(factory: WorkloadFactory, policy: str) -> str:
    """Returns the name of the Gatekeeper constraint of a policy for a tenant, for example "nccl-profile-research"."""
    return f"{policy}-{factory.tenant.name}" if factory.cluster.policies[policy].is_per_tenant else policy


def origin(cluster: Cluster, policy: str) -> Path:
    """Returns the path in the spec of the stage (dryrun, warn or deny) of a policy, or else of the default stage."""
    return ("spec", "policies", policy if policy in cluster.policy_specs else "default")


def fleet_warnings(cluster: Cluster, tested: str = "") -> tuple[str, ...]:
    """Returns texts of warnings from policies of the fleet. Test cases ignore all warnings that contain such a text.

    The policies of gpuc do not warn about the objects of test cases. A policy of the fleet may warn, for example
    because the policy requires an annotation.

    Args:
        tested: the policy that the test case violates. Its warnings are not ignored.
    """
    texts: list[str] = []
    for policy in cluster.policies.values():
        if policy.own_examples is not None and policy.name != tested and cluster.policy_stage(policy.name) == "warn":
            tenants = [f"-{tenant.name}" for tenant in cluster.tenants] if policy.is_per_tenant else [""]
            texts += [f"[{policy.name}{tenant}] " for tenant in tenants]  # the webhook
            texts.append(f"ValidatingAdmissionPolicy 'gatekeeper-{policy.kind.lower()}'")
    return tuple(texts)


class Deletion(NamedTuple):
    """A request of a member to delete one pod, or all pods with a label. Grace periods are in seconds."""

    name: str
    """The request. The name starts with "all" if the request selects pods by label, instead of one pod by name."""
    requested: int | None
    """Grace period of the request; None for a request without a grace period."""
    of_pod: int = 0
    """Grace period of the pod; 0 for the default."""


def deletion(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases: members delete pods. Of a tenant's namespaces with equal queues and quotas, one is tested."""
    cluster = spec.cluster
    for factory in distinct_factories(cluster):
        editors = factory.tenant.editors(factory.namespace)
        if not editors:
            continue
        limit = grace_limits(cluster)[factory.tenant.name]
        for deletion in _deletions(limit):
            is_refused = deletion.requested == 0 or (deletion.requested or 0) > max(limit, deletion.of_pod)
            expected = policy_outcome(cluster.policy_stage(GPU_QUOTA), NAME) if is_refused else ADMITTED
            name, action = f"{factory.namespace.name} {deletion.name}", _delete(factory, deletion, editors[0])
            yield Case("deletion", name, origin(cluster, GPU_QUOTA), expected, action, batch="counted")


def _deletions(limit: int) -> Iterator[Deletion]:
    above, slow = limit + 1, limit + 1000
    yield Deletion("pod deleted in a year", YEAR_SECONDS)
    yield Deletion("pod deleted above the limit", above)
    yield Deletion("pod deleted within the limit", limit)
    yield Deletion("pod deleted at once", 0)
    yield Deletion("pod deleted after a second", 1)
    yield Deletion("all pods deleted at once", 0)
    yield Deletion("pod deleted", None)
    yield Deletion("slow pod deleted", None, slow)
    yield Deletion("slow pod deleted within its own period", slow, slow)
    yield Deletion("slow pod deleted above its own period", slow + 1, slow)
    yield Deletion("all pods deleted above the limit", above)
    yield Deletion("all pods deleted within the limit", limit)
    yield Deletion("all slow pods deleted", None, slow)


def _delete(factory: WorkloadFactory, deletion: Deletion, group: str) -> Action:
    """Returns an action that deletes a pod with a node, as a member of a group. The deletion is a dry run."""
    pod = factory.pod(deletion.name.replace(" ", "-"))
    pod["metadata"]["labels"] = {LABEL: pod["metadata"]["name"]}
    pod["spec"]["schedulerName"] = SCHEDULER
    if deletion.of_pod:
        pod["spec"]["terminationGracePeriodSeconds"] = deletion.of_pod
    requested = {} if deletion.requested is None else {"gracePeriodSeconds": deletion.requested}
    name, namespace = pod["metadata"]["name"], factory.namespace.name

    def delete(member: Client) -> None:
        many = f"{member.path(*POD, namespace)}?labelSelector={LABEL}={name}"
        address = many if deletion.name.startswith("all") else member.path(*POD, namespace, name)
        member.request("DELETE", address, {"dryRun": ["All"], **requested})

    def action(context: RehearsalContext) -> Outcome:
        client = context.client
        client.create(pod)
        try:
            # The API server ignores the grace period of a pod without a node.
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            binding = new_object("v1", "Binding", name, target=target)
            client.request("POST", client.path(*POD, namespace, name, "binding"), binding)
            return sending(delete, f"member-of-{factory.tenant.name}", group)(context)
        finally:
            client.delete_object(pod)

    return action
