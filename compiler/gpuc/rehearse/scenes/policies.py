"""Policies: what they let pass and what they refuse, decided by the API server with what Gatekeeper generated.

The examples of the policy folders are judged under the parameters that they are written for, in namespaces of their
own, so that no other policy speaks. The emitted constraints are tried in every namespace of every tenant with objects
that are made from the model. Nothing of it is stored: every request is a dry run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.workloads import workloads
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc.rehearse.client import Object
from gpuc.rehearse.desk import Attempt, Desk, permitted
from gpuc.rehearse.examples import Example, examples
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.sample_namespaces import SampleNamespaces, constraint_name
from gpuc.rehearse.scenes import Scene
from gpuc.rehearse.session import Rehearsal
from gpuc.rehearse.verdict import SILENCE, judged
from gpuc.rehearse.violations import violations

FAMILY = "policies"
PLATFORM = "kube-system"
TAKEN = Outcome("admitted", words=SILENCE)


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """Examples, tenants, the platform's namespaces, and the templates that users copy."""
    samples = SampleNamespaces(cluster)
    yield from _of_examples(cluster, samples)
    for tenant in cluster.tenants:
        for namespace in tenant.namespaces:
            yield from _of_desk(Desk(cluster, tenant, namespace), samples)
    yield from _of_platform(cluster, samples)
    for each in workloads(cluster):
        if isinstance(each, Manifest):
            name = f"template {each.file.rpartition('/')[2]} {each}"
            play = _creating(samples, each.document())
            yield Scene(FAMILY, name, each.origin, TAKEN, play, request=f"template {each}")


def _of_examples(cluster: Cluster, samples: SampleNamespaces) -> Iterator[Scene]:
    for name in samples.policies:
        for example in examples(policies()[name]):
            if samples.serves(example):
                verdict = "denied" if example.denied else "allowed"
                title = f"{name} {verdict} example: {example.shows}"
                expected = _of_example(name, example)
                play = _trying(samples, example)
                yield Scene(FAMILY, title, origin(cluster, name), expected, play, request=title)


def _of_example(name: str, example: Example) -> Outcome:
    if example.own_refusal:
        return Outcome("refused", by="API server", words=example.own_refusal)
    if example.denied:
        return Outcome("refused", by="policy", words=constraint_name(name))
    if example.before is not None and example.document["kind"] == "Job":
        return Outcome("admitted")  # the webhook judges the pods that a Job will make as new ones, and may warn
    return TAKEN


def _trying(samples: SampleNamespaces, example: Example) -> Callable[[Rehearsal], Outcome]:
    def play(rehearsal: Rehearsal) -> Outcome:
        samples.prepare(rehearsal)
        return judged(rehearsal.client, lambda: samples.send(rehearsal.client, example))

    return play


def _of_desk(desk: Desk, samples: SampleNamespaces) -> Iterator[Scene]:
    for attempt in (*permitted(desk), *violations(desk)):
        if attempt.policy and attempt.policy not in samples.emitted:
            continue
        name = f"{desk.namespace.name} {attempt.policy or 'permitted'}: {attempt.name}"
        path = origin(desk.cluster, attempt.policy) if attempt.policy else desk.namespace.path
        expected, play = _expected(desk, attempt), _creating(samples, attempt.document)
        request = f"{desk.namespace.name}: {attempt.name}"
        yield Scene(FAMILY, name, path, expected, play, pool=attempt.pool, request=request)


def _of_platform(cluster: Cluster, samples: SampleNamespaces) -> Iterator[Scene]:
    """What a tenant may not do, the platform may: one object of each policy in its namespace."""
    tried: set[str] = set()
    desks = (Desk(cluster, tenant, namespace) for tenant in cluster.tenants for namespace in tenant.namespaces)
    for attempt in (each for desk in desks for each in violations(desk)):
        if attempt.policy in samples.emitted and attempt.policy not in tried:
            tried.add(attempt.policy)
            document = {**attempt.document, "metadata": {**attempt.document["metadata"], "namespace": PLATFORM}}
            name = f"{PLATFORM} {attempt.policy}: {attempt.name}"
            path = origin(cluster, attempt.policy)
            yield Scene(FAMILY, name, path, TAKEN, _creating(samples, document), request=f"{PLATFORM}: {attempt.name}")


def _expected(desk: Desk, attempt: Attempt) -> Outcome:
    """In the order in which the API server asks: Pod Security, policies, the namespace's quota."""
    if attempt.breaks_baseline and desk.namespace.spec.pod_security != "privileged":
        return Outcome("refused", by="API server", words=f'violates PodSecurity "{desk.namespace.spec.pod_security}')
    stage = desk.cluster.policy_stage(attempt.policy) if attempt.policy else ""
    binding = emitted_name(desk, attempt.policy) if attempt.policy else ""
    if stage == "deny":
        return Outcome("refused", by="policy", words=binding)
    counted = {name for pool in desk.cluster.pools for name in pool.advertised_names}
    if any(name in counted and amount > desk.tenant.ceiling.get(name, 0) for name, amount in attempt.asks.items()):
        return Outcome("refused", by="quota", words="exceeded quota: gpuc")
    return Outcome("admitted", by="policy", words=binding) if stage == "warn" else TAKEN


def emitted_name(desk: Desk, policy: str) -> str:
    """The constraint of a policy that holds in a tenant's namespaces."""
    return f"{policy}-{desk.tenant.name}" if desk.cluster.policies[policy].is_per_tenant else policy


def origin(cluster: Cluster, policy: str) -> Path:
    """Where the spec speaks of a policy; of all where it does not name it."""
    return ("spec", "policies", policy if policy in cluster.spec.policies else "default")


def _creating(samples: SampleNamespaces, document: Object) -> Callable[[Rehearsal], Outcome]:
    def play(rehearsal: Rehearsal) -> Outcome:
        samples.prepare(rehearsal)
        return judged(rehearsal.client, lambda: rehearsal.client.create(document, dry_run=True))

    return play
