"""Changes that break the isolation of an example are reported at the changed object, and harmless changes are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from gpuc.isolation import findings
from gpuc.isolation.assumptions import Basis, assumptions
from gpuc.isolation.constraints import HOST_NETWORK, Constraints
from gpuc.isolation.proof import Allowance, Reachability
from gpuc.isolation.tenancy import labelled_tenancy
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.network_policies import GROUP, read_policies
from tests.conftest import EXAMPLES
from tests.isolation.cases import complete, synced

PEERS = {"ingress": "from", "egress": "to"}
KINDS = ("NetworkPolicy", "CiliumNetworkPolicy")
EVERY_POD: Body = {"podSelector": {}, "namespaceSelector": {}}
OTHER = {"prod-use1": "search", "infer-euw1": "assistants", "train-usw2": "safety"}


def places(policy: Manifest) -> Iterator[tuple[str, int]]:
    for direction in PEERS:
        for index in range(len(policy.body["spec"].get(direction, []))):
            yield direction, index


def changed(policy: Manifest, change: Callable[[Body], None]) -> Manifest:
    body = deepcopy(policy.body)
    change(body["spec"])
    return replace(policy, body=body)


def widenings(policy: Manifest, other: str) -> Iterator[tuple[str, Manifest]]:
    """Yields copies of the NetworkPolicy in which one rule also allows another tenant, in all usual forms."""
    for direction, index in places(policy):
        ends = PEERS[direction]

        def with_peer(peer: Any, direction: str = direction, index: int = index, ends: str = ends) -> Manifest:
            return changed(policy, lambda spec: spec[direction][index].__setitem__(ends, peer))

        name = f"{policy.namespace}/{policy.name}: {direction}[{index}]"
        own = policy.body["spec"][direction][index][ends]
        yield f"{name} has no peers", changed(policy, lambda spec, d=direction, i=index, e=ends: spec[d][i].pop(e))
        yield f"{name} has no peer in its list", with_peer([])
        yield f"{name} takes every namespace", with_peer([{"namespaceSelector": {}}])
        yield f"{name} takes every pod", with_peer([*own, EVERY_POD])
        yield (
            f"{name} selects by pod labels alone",
            with_peer([{"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "server"}}}]),
        )
        yield f"{name} names a tenant", with_peer(
            [*own, {"namespaceSelector": {"matchExpressions": [
                {"key": "gpuc.dev/tenant", "operator": "In", "values": [other, "nobody"]}]}}]
        )  # fmt: skip
        yield (
            f"{name} takes all tenants",
            with_peer(
                [{"namespaceSelector": {"matchExpressions": [{"key": "gpuc.dev/tenant", "operator": "Exists"}]}}]
            ),
        )
        yield f"{name} takes all but one", with_peer(
            [{"namespaceSelector": {"matchExpressions": [
                {"key": "gpuc.dev/tenant", "operator": "NotIn", "values": ["nobody"]}]}}]
        )  # fmt: skip
        yield f"{name} takes all addresses", with_peer([{"ipBlock": {"cidr": "0.0.0.0/0"}}])
        yield (
            f"{name} takes all but the metadata",
            with_peer([{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32"]}}]),
        )
    for direction in PEERS:
        spec = policy.body["spec"]
        if direction.capitalize() in spec["policyTypes"]:
            name = f"{policy.namespace}/{policy.name}: {direction}"
            yield (
                f"{name} has an empty rule",
                changed(policy, lambda spec, d=direction: spec.__setitem__(d, [*spec.get(d, []), {}])),
            )


def tenant_of(objects: tuple[Manifest, ...], namespace: str) -> str:
    return next(
        manifest.labels["gpuc.dev/tenant"]
        for manifest in objects
        if manifest.kind == "Namespace" and manifest.name == namespace
    )


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_isolated(example: str) -> None:
    assert list(findings(complete(synced(example)))) == []


@pytest.mark.share(3)
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_widened_rule_is_reported_at_its_policy(example: str) -> None:
    objects, tried = synced(example), 0
    for position, policy in enumerate(objects):
        if policy.kind != "NetworkPolicy" or policy.name == "default-deny":
            continue
        other = OTHER[example]
        if tenant_of(objects, policy.namespace) == other:
            other = next(tenant for tenant in ("research", "retrieval", "foundation") if tenant_known(objects, tenant))
        for what, broken in widenings(policy, other):
            found = list(findings(complete((*objects[:position], broken, *objects[position + 1 :]))))
            assert {finding.manifest.name for finding in found} == {policy.name}, what
            assert {finding.manifest.namespace for finding in found} == {policy.namespace}, what
            assert {finding.rule.id for finding in found} <= {"ISO001", "ISO002"}, what
            tried += 1
    print(f"{example}: {tried} widened rules")
    assert tried > 150


def tenant_known(objects: tuple[Manifest, ...], tenant: str) -> bool:
    return any(manifest.labels.get("gpuc.dev/tenant") == tenant for manifest in objects if manifest.kind == "Namespace")


@pytest.mark.parametrize("example", EXAMPLES)
def test_two_ends_that_open_are_an_error_that_names_both_rules(example: str) -> None:
    """The egress of one namespace and the ingress of another tenant's, both widened: one pair on the ports of both."""
    objects = synced(example)
    own = [manifest for manifest in objects if manifest.kind == "NetworkPolicy" and manifest.name == "allow-tenant"]
    for client in own:
        for server in own:
            if tenant_of(objects, client.namespace) == tenant_of(objects, server.namespace):
                continue
            rule_out = {"to": [{"namespaceSelector": {}}], "ports": [{"port": 8000, "endPort": 8100}]}
            rule_in = {"from": [{"namespaceSelector": {}}], "ports": [{"port": 8080}, {"port": 53, "protocol": "UDP"}]}
            broken = {
                id(client): changed(client, lambda spec, rule=rule_out: spec["egress"].append(rule)),
                id(server): changed(server, lambda spec, rule=rule_in: spec["ingress"].append(rule)),
            }
            found = list(findings(complete([broken.get(id(manifest), manifest) for manifest in objects])))
            errors = [finding for finding in found if finding.rule.id == "ISO001"]
            assert {(finding.manifest.namespace, finding.path) for finding in errors} == {
                (client.namespace, ("spec", "egress", 1, "to", 0)),
                (server.namespace, ("spec", "ingress", 1, "from", 0)),
            }
            for finding in errors:
                other = server if finding.manifest.namespace == client.namespace else client
                assert f"NetworkPolicy {other.namespace}/allow-tenant ({other.file}: spec." in finding.message
                assert "on TCP 8080;" in finding.message


def shared_tenants(objects: tuple[Manifest, ...]) -> list[Manifest]:
    """Namespaces of tenants that have several: a tenant with one namespace gives no comparison."""
    spaces = [manifest for manifest in objects if manifest.kind == "Namespace"]
    count = Counter(space.labels["gpuc.dev/tenant"] for space in spaces)
    return [space for space in spaces if count[space.labels["gpuc.dev/tenant"]] > 1]


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_namespace_without_policies_is_reported_at_the_namespace(example: str) -> None:
    objects = synced(example)
    for space in shared_tenants(objects):
        kept = [
            manifest for manifest in objects if (manifest.kind, manifest.namespace) != ("NetworkPolicy", space.name)
        ]
        found = list(findings(complete(kept)))
        assert {(finding.manifest.kind, finding.manifest.name) for finding in found} == {("Namespace", space.name)}


@pytest.mark.share(3)
@pytest.mark.parametrize("example", EXAMPLES)
def test_dropped_policies_are_reported_exactly_where_pods_are_open(example: str) -> None:
    """For at most two remaining NetworkPolicies of a namespace, exactly the pods without isolation are reported."""
    objects, opened = synced(example), 0
    by_space: dict[str, list[Manifest]] = {}
    for manifest in objects:
        if manifest.kind in KINDS:
            by_space.setdefault(manifest.namespace, []).append(manifest)
    for space in (namespace.name for namespace in shared_tenants(objects)):
        policies = by_space[space]
        others = [manifest for manifest in objects if not (manifest.kind in KINDS and manifest.namespace == space)]
        for left in (left for count in range(3) for left in combinations(policies, count)):
            types = {name for policy in left for name in policy.body["spec"].get("policyTypes", ["Egress"])}
            found = list(findings(complete([*others, *left])))
            assert bool(found) == (types != {"Ingress", "Egress"}), [policy.name for policy in left]
            assert {(finding.manifest.kind, finding.manifest.name) for finding in found} <= {("Namespace", space)}
            opened += bool(found)
    assert opened > 5


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_denial_that_selects_some_pods_isolates_no_others(example: str) -> None:
    objects = synced(example)
    for space in [manifest.name for manifest in objects if manifest.kind == "Namespace"]:
        broken = [
            changed(manifest, lambda spec: spec.__setitem__("podSelector", {"matchLabels": {"app": "server"}}))
            if (manifest.kind, manifest.namespace) == ("NetworkPolicy", space) else manifest
            for manifest in objects
        ]  # fmt: skip
        found = list(findings(complete(broken)))
        assert {(finding.manifest.kind, finding.manifest.name) for finding in found} == {("Namespace", space)}
        assert all("do not select all of its pods" in finding.message for finding in found)


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("label", [None, "nobody", "another"])
def test_a_changed_tenant_label_is_reported_at_the_namespace(example: str, label: str | None) -> None:
    objects = synced(example)
    for space in [manifest for manifest in objects if manifest.kind == "Namespace"]:
        tenant = space.labels["gpuc.dev/tenant"]
        labels = {key: value for key, value in space.labels.items() if key != "gpuc.dev/tenant"}
        if label == "another":
            labels["gpuc.dev/tenant"] = next(
                manifest.labels["gpuc.dev/tenant"]
                for manifest in objects
                if manifest.kind == "Namespace" and manifest.labels["gpuc.dev/tenant"] != tenant
            )
        elif label:
            labels["gpuc.dev/tenant"] = label
        broken = [replace(manifest, labels=labels) if manifest is space else manifest for manifest in objects]
        at = [finding for finding in findings(complete(broken)) if finding.manifest.name == space.name]
        assert "ISO004" in {finding.rule.id for finding in at}


def with_privileged_namespaces() -> list[Manifest]:
    """The objects of prod-use1, with the Pod Security level privileged in two namespaces."""
    level = {"pod-security.kubernetes.io/enforce": "privileged"}
    names = ("research-train", "search-train")
    return [
        replace(manifest, labels=manifest.labels | level)
        if manifest.kind == "Namespace" and manifest.name in names else manifest
        for manifest in synced("prod-use1")
    ]  # fmt: skip


def test_a_privileged_namespace_needs_a_constraint() -> None:
    objects = with_privileged_namespaces()
    fence = next(manifest for manifest in objects if manifest.kind == "GpucHostNetwork")
    for change in (
        None,
        {"enforcementAction": "scoped"},
        {"match": {**fence.body["spec"]["match"], "excludedNamespaces": ["*-train"]}},
        {"match": {**fence.body["spec"]["match"], "labelSelector": {"matchLabels": {"a": "b"}}}},
        {"match": {**fence.body["spec"]["match"], "namespaceSelector": {"matchLabels": {"gpuc.dev/tenant": "x"}}}},
        {"match": {"kinds": [{"apiGroups": ["apps"], "kinds": ["Deployment"]}]}},
        {"match": {**fence.body["spec"]["match"], "namespaces": ["re*train", "se*train"]}},
    ):
        broken = [manifest for manifest in objects if manifest is not fence]
        if change is not None:
            broken.append(replace(fence, body={"spec": {**fence.body["spec"], **change}}))
        found = [(finding.rule.id, finding.manifest.name) for finding in findings(complete(broken))]
        assert found == [("ISO003", "research-train"), ("ISO003", "search-train")]


def test_the_config_of_gatekeeper_excludes_a_namespace_without_an_object() -> None:
    body = {"spec": {"match": [{"processes": ["webhook"], "excludedNamespaces": ["elsewhere"]}]}}
    config = next(manifest for manifest in synced("prod-use1") if manifest.kind == "Config")
    for objects, found in (((), True), ((replace(config, body=body),), False)):
        made = complete([manifest for manifest in synced("prod-use1") if manifest.kind != "Config"] + list(objects))
        constraint = Constraints(made).find(HOST_NETWORK, "elsewhere", {"gpuc.dev/tenant": "nlp"})
        assert (constraint is not None) == found


@pytest.mark.parametrize("kinds", [{"kinds": ["Pod"]}, {"apiGroups": [""]}, {"apiGroups": [], "kinds": []}])
def test_a_constraint_without_groups_or_kinds_has_all_of_them(kinds: dict[str, list[str]]) -> None:
    """Source: gatekeeper pkg/mutation/match/match.go (kindsMatch)."""
    objects = with_privileged_namespaces()
    fence = next(manifest for manifest in objects if manifest.kind == "GpucHostNetwork")
    changed = replace(fence, body={"spec": {**fence.body["spec"], "match": {"kinds": [kinds]}}})
    assert list(findings(complete([changed if manifest is fence else manifest for manifest in objects]))) == []


@pytest.mark.parametrize("action", ["warn", "dryrun"])
def test_a_constraint_that_refuses_nothing_breaks_the_proof(action: str) -> None:
    """There is no finding, because policies are enabled in stages, but the assumption of the proof is false."""
    objects = [
        replace(manifest, body={"spec": {**manifest.body["spec"], "enforcementAction": action}})
        if manifest.kind == "GpucHostNetwork" else manifest
        for manifest in with_privileged_namespaces()
    ]  # fmt: skip
    made = complete(objects)
    assert list(findings(made)) == []
    reachability = Reachability(read_policies(made.of(GROUP, "NetworkPolicy")), labelled_tenancy(made))
    broken = [assumption.reason for assumption in assumptions(made, reachability) if assumption.basis is Basis.BROKEN]
    where = "namespaces research-train, search-train"
    assert broken == [f"neither Pod Security nor a constraint denies hostNetwork in {where}"]


def test_a_gate_is_told_apart_by_what_it_is_not_by_what_it_says() -> None:
    """Two Allowance objects are different, even if all of their fields are equal."""
    assert Allowance("ingress", "a") != Allowance("ingress", "a")
