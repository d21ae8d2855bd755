"""Pods that NetworkPolicies block from the cluster's DNS, in emitted objects and in objects that users write."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.place import place
from gpuc.isolation.dns_egress import findings
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.conftest import EXAMPLES, compiled_example
from tests.isolation.cases import DENY, manifests, policy
from tests.tables import table
from tests.values import changed, without

_TABLE = table(__file__, "names.yaml")


def places_of(objects: Iterable[Manifest], *, is_complete: bool = False) -> list[tuple[str, str]]:
    found = findings(ObjectSet([*objects], is_complete=is_complete))
    return [(str(finding.manifest), place(finding.path)) for finding in found]


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("is_complete", [True, False])
def test_our_own_tenants_find_names(name: str, is_complete: bool) -> None:
    assert places_of(compiled_example(name).objects, is_complete=is_complete) == []


_PEER = ("spec", "egress", 0, "to", 0)


@pytest.mark.share(3)
@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("spec", "egress", 0, "ports", -1), None, "ports"),
        ((*_PEER, "podSelector", "matchLabels", "k8s-app"), "kubedns", "to[0]"),
        ((*_PEER, "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name"), "kube-sytem", "to[0]"),
    ],
)
def test_a_rule_that_leads_nowhere_is_reported_at_its_peer(
    path: Path, value: str | None, where: str, is_complete: bool
) -> None:
    tree = compiled_example("infer-euw1").objects  # a cluster without NodeLocal DNSCache
    key = ("NetworkPolicy", "assistants-lab", "allow-dns")
    (right,) = (manifest for manifest in tree if (manifest.kind, manifest.namespace, manifest.name) == key)
    body = changed(right.body, path, value) if value else without(right.body, path)
    others = [manifest for manifest in tree if manifest is not right]
    assert places_of([*others, replace(right, body=body)], is_complete=is_complete) == [
        ("NetworkPolicy assistants-lab/allow-dns", f"spec.egress[0].{where}")
    ]
    assert places_of(others, is_complete=is_complete) == [
        ("NetworkPolicy assistants-lab/default-deny", "spec.policyTypes")
    ]


def web(name: str, namespace: str = "", **spec: Any) -> str:
    """A Deployment; without a namespace, its manifest names no namespace."""
    pod = json.dumps({"containers": [{"name": name, "image": "web:1"}], **spec})
    metadata = f"name: {name}, namespace: {namespace}" if namespace else f"name: {name}"
    template = f"{{metadata: {{labels: {{app: {name}}}}}, spec: {pod}}}"
    return f"""---
apiVersion: apps/v1
kind: Deployment
metadata: {{{metadata}}}
spec: {{selector: {{matchLabels: {{app: {name}}}}}, template: {template}}}
"""


def egress(rules: list[Any], name: str = "allow", pods: str = "{}") -> str:
    """A NetworkPolicy of namespace shop."""
    return policy("shop", f"{{podSelector: {pods}, policyTypes: [Egress], egress: {json.dumps(rules)}}}", name)


DATABASE = egress([_TABLE["database"]])
SHOP = web("web", "shop") + policy("shop", DENY, "default-deny")
OTHER = "---\napiVersion: {api}\nkind: {kind}\nmetadata: {{name: a, namespace: shop}}\nspec: {{}}\n"
CILIUM = OTHER.format(api="cilium.io/v2", kind="CiliumNetworkPolicy")
QUEUE = OTHER.format(api="kueue.x-k8s.io/v1beta2", kind="LocalQueue")


@pytest.mark.parametrize("row", _TABLE["rules"])
def test_a_forgotten_dns_is_reported_at_what_isolates_or_at_the_rule(row: dict[str, Any]) -> None:
    pod = web("web", "shop", **row.get("pod", {}))
    found = places_of(manifests(pod + policy("shop", DENY, "default-deny") + egress(row["egress"])))
    name, _, path = row.get("at", "").partition(": ")
    assert found == ([(f"NetworkPolicy shop/{name}", path)] if name else [])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param(SHOP, "", id="no policy opens anything"),
        pytest.param(DATABASE, "", id="no pods"),
        pytest.param(SHOP + DATABASE + CILIUM, "", id="policies of other kinds may open what these do not"),
        pytest.param(SHOP + QUEUE, "shop/default-deny: spec.policyTypes", id="work of a queue needs names"),
        pytest.param(
            SHOP.replace("[Ingress, Egress]", "[Ingress]") + policy("kube-system", DENY, "default-deny"),
            "kube-system/default-deny: spec.podSelector",
            id="servers without permitted clients are reported once",
        ),
    ],
)
def test_the_place_in_a_file(text: str, place: str) -> None:
    name, _, path = place.partition(": ")
    assert places_of(manifests(text)) == ([(f"NetworkPolicy {name}", path)] if name else [])


@pytest.mark.parametrize("row", _TABLE["policies"], ids=lambda row: row["why"])
def test_lint12_a_policy_counts_for_the_pods_that_it_selects(row: dict[str, Any]) -> None:
    text = "".join(web(name) for name in ("frontend", "backend", "payments"))
    text += policy("shop", DENY, "deny") if "deny" in row else ""
    text += "".join(egress(rules, name, f"{{matchLabels: {{app: {name}}}}}") for name, rules in row["allow"].items())
    if "labelled" in row:
        text += "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system, labels: {name: kube-system}}\n"
    found = findings(ObjectSet(manifests(text.replace(", namespace: shop", "")), is_complete=False))
    messages = [f"{finding.manifest}: {finding.message}" for finding in found]
    assert len(messages) == (not {"starts", "ends", "has"}.isdisjoint(row)), messages
    for message in messages:
        assert message.startswith(row.get("starts", "")) and message.endswith(row.get("ends", ""))
        assert row.get("has", "") in message
