"""Test cases for policies: the API server decides requests with the policies that Gatekeeper generates.

The examples of a policy folder run with their own parameters, in separate namespaces where no other policy applies. The
constraints of the cluster are tested in every tenant namespace, with objects that are generated from the model. All
requests are dry runs, so no object is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.workloads import workloads
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import Object
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.examples import Example
from gpuc.rehearse.outcome import NO_OBJECTION, Outcome, classify_response
from gpuc.rehearse.sample_namespaces import SampleNamespaces, constraint_name
from gpuc.rehearse.sample_workloads import SampleObject, WorkloadFactory, creator, factories, permitted_samples
from gpuc.rehearse.suites import Case
from gpuc.rehearse.violations import violations

SUITE = "policies"
PLATFORM = "kube-system"
DECIDED_BY_USER = ("gpu-quota", "queue-required")
"""Policies that decide by the user of a request."""
ADMITTED = Outcome("admitted", message=NO_OBJECTION)


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
        return classify_response(client, lambda: client.create(document, dry_run=True), ignored)

    return action
