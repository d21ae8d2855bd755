"""Changes that break the isolation of an example are reported at the changed object, and harmless changes are not."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.isolation import findings
from gpuc.isolation.assumptions import Basis, assumptions
from gpuc.isolation.constraints import HOST_NETWORK, Constraints
from gpuc.isolation.proof import Allowance, Reachability
from gpuc.isolation.tenancy import labelled_tenancy
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.network_policies import GROUP, read_policies
from tests.conftest import EXAMPLES
from tests.isolation.cases import complete, synced, with_changed
from tests.tables import table
from tests.values import changed, without

PEERS = {"ingress": "from", "egress": "to"}
KINDS = ("NetworkPolicy", "CiliumNetworkPolicy")
TENANT = "gpuc.dev/tenant"
WIDE = table(__file__, "breaks.yaml")


def widenings(body: Any, other: str) -> Iterator[tuple[str, Body]]:
    """Yields bodies of the NetworkPolicy in which one rule also allows another tenant, in all usual forms."""
    for direction, ends in PEERS.items():
        rules = body["spec"].get(direction, [])
        for index, rule in enumerate(rules):
            path = ("spec", direction, index, ends)
            yield f"{direction}[{index}] has no peers", without(body, path)
            for what, row in WIDE.items():
                peers = json.loads(json.dumps(row["peers"]).replace("OTHER", other))
                own = rule[ends] if "own" in row else []
                yield f"{direction}[{index}] {what}", changed(body, path, [*own, *peers])
        if direction.capitalize() in body["spec"]["policyTypes"]:
            yield f"{direction} has an empty rule", changed(body, ("spec", direction), [*rules, {}])


def namespaces(objects: Iterable[Manifest]) -> list[Manifest]:
    return [manifest for manifest in objects if manifest.kind == "Namespace"]


def tenants(objects: Iterable[Manifest]) -> dict[str, str]:
    """Returns the tenants by namespace."""
    return {space.name: space.labels[TENANT] for space in namespaces(objects)}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_isolated(example: str) -> None:
    assert list(findings(complete(synced(example)))) == []


@pytest.mark.share(3)
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_widened_rule_is_reported_at_its_policy(example: str) -> None:
    objects, tried = synced(example), 0
    by_space = tenants(objects)
    for policy in objects:
        if policy.kind != "NetworkPolicy" or policy.name == "default-deny":
            continue
        other = next(tenant for tenant in by_space.values() if tenant != by_space[policy.namespace])
        for what, body in widenings(policy.body, other):
            found = list(findings(complete(with_changed(objects, policy, body=body))))
            assert {(finding.manifest.namespace, finding.manifest.name) for finding in found} == {
                (policy.namespace, policy.name)
            }, (str(policy), what)
            assert {finding.rule.id for finding in found} <= {"ISO001", "ISO002"}, (str(policy), what)
            tried += 1
    assert tried > 150


@pytest.mark.parametrize("example", EXAMPLES)
def test_two_ends_that_open_are_an_error_that_names_both_rules(example: str) -> None:
    """The egress of one namespace and the ingress of another tenant's, both widened: one pair on the ports of both."""
    objects = synced(example)
    own = [manifest for manifest in objects if manifest.kind == "NetworkPolicy" and manifest.name == "allow-tenant"]
    by_space = tenants(objects)
    for client, server in permutations(own, 2):
        if by_space[client.namespace] != by_space[server.namespace]:
            rule_out = {"to": [{"namespaceSelector": {}}], "ports": [{"port": 8000, "endPort": 8100}]}
            rule_in = {"from": [{"namespaceSelector": {}}], "ports": [{"port": 8080}, {"port": 53, "protocol": "UDP"}]}
            broken: Sequence[Manifest] = objects
            for policy, direction, rule in ((client, "egress", rule_out), (server, "ingress", rule_in)):
                rules = [*policy.body["spec"][direction], rule]
                broken = with_changed(broken, policy, body=changed(policy.body, ("spec", direction), rules))
            found = list(findings(complete(broken)))
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
    count = Counter(tenants(objects).values())
    return [space for space in namespaces(objects) if count[space.labels[TENANT]] > 1]


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
    selector = {"matchLabels": {"app": "server"}}
    for space in tenants(objects):
        broken = [
            replace(manifest, body=changed(manifest.body, ("spec", "podSelector"), selector))
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
    for space in namespaces(objects):
        labels = {key: value for key, value in space.labels.items() if key != TENANT}
        if label:
            others = (tenant for tenant in tenants(objects).values() if tenant != space.labels[TENANT])
            labels[TENANT] = next(others) if label == "another" else label
        found = findings(complete(with_changed(objects, space, labels=labels)))
        assert "ISO004" in {finding.rule.id for finding in found if finding.manifest.name == space.name}


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
    body = changed(fence.body, ("spec", "match"), {"kinds": [kinds]})
    assert list(findings(complete(with_changed(objects, fence, body=body)))) == []


@pytest.mark.parametrize("action", ["warn", "dryrun"])
def test_a_constraint_that_refuses_nothing_breaks_the_proof(action: str) -> None:
    """There is no finding, because policies are enabled in stages, but the assumption of the proof is false."""
    objects = [
        replace(manifest, body=changed(manifest.body, ("spec", "enforcementAction"), action))
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
