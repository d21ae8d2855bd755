"""Pods that NetworkPolicies block from the cluster's DNS, in emitted objects and in objects that users write."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from gpuc.diagnostics.place import place
from gpuc.isolation.dns_egress import findings
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.conftest import EXAMPLES, compiled_example

Places = list[tuple[str, str]]


def places_of(manifests: tuple[Manifest, ...], *, is_complete: bool) -> Places:
    return [
        (str(finding.manifest), place(finding.path))
        for finding in findings(ObjectSet(manifests, is_complete=is_complete))
    ]


def lint(text: str) -> Places:
    reading = LoadedFiles()
    reading.add("tree.yaml", text)
    assert not reading.findings
    return places_of(tuple(reading.manifests), is_complete=False)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("is_complete", [True, False])
def test_our_own_tenants_find_names(name: str, is_complete: bool) -> None:
    assert places_of(compiled_example(name).objects, is_complete=is_complete) == []


def gone(spec: Any) -> None:
    spec["egress"][0]["ports"].pop()


def misspelt_pods(spec: Any) -> None:
    spec["egress"][0]["to"][0]["podSelector"]["matchLabels"]["k8s-app"] = "kubedns"


def misspelt_namespace(spec: Any) -> None:
    spec["egress"][0]["to"][0]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] = "kube-sytem"


@pytest.mark.share(3)
@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(
    ("change", "where"),
    [(gone, "ports"), (misspelt_pods, "to[0]"), (misspelt_namespace, "to[0]")],
)  # fmt: skip
def test_a_rule_that_leads_nowhere_is_reported_at_its_peer(
    change: Callable[[Any], None], where: str, is_complete: bool
) -> None:
    tree = compiled_example("infer-euw1").objects  # a cluster without NodeLocal DNSCache
    key = ("NetworkPolicy", "assistants-lab", "allow-dns")
    broken = next(manifest for manifest in tree if (manifest.kind, manifest.namespace, manifest.name) == key)
    body = deepcopy(broken.body)
    change(body["spec"])
    made = tuple(replace(manifest, body=body) if manifest is broken else manifest for manifest in tree)
    assert places_of(made, is_complete=is_complete) == [
        ("NetworkPolicy assistants-lab/allow-dns", f"spec.egress[0].{where}")
    ]
    without = tuple(manifest for manifest in tree if manifest is not broken)
    assert places_of(without, is_complete=is_complete) == [
        ("NetworkPolicy assistants-lab/default-deny", "spec.policyTypes")
    ]


WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web:1}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny, namespace: shop}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
"""
POLICY = """
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow, namespace: shop}
spec:
  podSelector: {}
  policyTypes: [Egress]
  egress: [EGRESS]
"""
DATABASE = "{to: [{ipBlock: {cidr: 203.0.113.0/24}}], ports: [{port: 5432}]}"
BOTH = "ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}]"


def shop(*rules: str, pod: str = "") -> Places:
    return lint(
        WEB.replace("spec: {containers", f"spec: {{{pod}containers") + POLICY.replace("EGRESS", ", ".join(rules))
    )


@pytest.mark.parametrize(
    ("rule", "where"),
    [
        ("", "default-deny: spec.policyTypes"),
        ("{to: [{namespaceSelector: {}}], ports: [{protocol: UDP, port: 53}]}", "allow: spec.egress[1].ports"),
        ("{to: [{podSelector: {}}], ports: [{protocol: UDP, port: 53}]}", "allow: spec.egress[1].to[0]"),
        (f"{{to: [{{podSelector: {{matchLabels: {{k8s-app: kube-dns}}}}}}], {BOTH}}}", "allow: spec.egress[1].to[0]"),
        (f"{{to: [{{ipBlock: {{cidr: 198.51.100.7/32}}}}], {BOTH}}}", "allow: spec.egress[1].to[0]"),
    ],
)
def test_a_forgotten_dns_is_reported_at_what_isolates_or_at_the_rule(rule: str, where: str) -> None:
    name, _, path = where.partition(": ")
    assert shop(*filter(None, (DATABASE, rule))) == [(f"NetworkPolicy shop/{name}", path)]


@pytest.mark.parametrize(
    "rule",
    [
        f"{{{BOTH}}}",
        "{}",
        f"{{to: [{{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: kube-system}}}}}}], {BOTH}}}",
        f"{{to: [{{namespaceSelector: {{matchLabels: {{dns: central}}}}}}], {BOTH}}}",
        f"{{to: [{{namespaceSelector: {{}}, podSelector: {{matchLabels: {{k8s-app: kube-dns}}}}}}], {BOTH}}}",
        "{to: [{namespaceSelector: {}}], ports: [{protocol: UDP, port: dns}, {protocol: TCP, port: dns-tcp}]}",
        f"{{to: [{{ipBlock: {{cidr: 169.254.20.10/32}}}}], {BOTH}}}",
        f"{{to: [{{ipBlock: {{cidr: 0.0.0.0/0, except: [169.254.169.254/32]}}}}], {BOTH}}}",
        f"{{to: [{{ipBlock: {{cidr: 172.20.0.10/32}}}}], {BOTH}}}",
        "{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: openshift-dns}}}],"
        " ports: [{protocol: UDP, port: 5353}, {protocol: TCP, port: 5353}]}",
    ],
)
def test_every_way_to_the_dns_counts(rule: str) -> None:
    assert shop(DATABASE, rule) == []


def test_requirements_for_one_label_count_together() -> None:
    never = "[{key: dns, operator: Exists}, {key: dns, operator: DoesNotExist}]"
    rule = f"{{to: [{{namespaceSelector: {{matchExpressions: {never}}}}}], {BOTH}}}"
    assert shop(DATABASE, rule) == [("NetworkPolicy shop/allow", "spec.egress[1].to[0]")]


def test_who_asks_nobody_for_names_is_left_alone() -> None:
    assert lint(WEB) == []
    assert shop(DATABASE, pod="dnsPolicy: None, ") == []
    assert shop(DATABASE, pod="hostNetwork: true, ") == []
    assert lint(POLICY.replace("EGRESS", DATABASE).replace("\n---\n", "", 1)) == []


def test_policies_of_other_kinds_may_open_what_these_do_not() -> None:
    other = (
        "\n---\napiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: dns, namespace: shop}\nspec: {}"
    )
    assert lint(WEB + POLICY.replace("EGRESS", DATABASE) + other) == []


def test_work_of_a_queue_needs_names_even_where_nothing_else_is_opened() -> None:
    queue = (
        "\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: a, namespace: shop}\nspec: {}"
    )
    assert lint(WEB + queue) == [("NetworkPolicy shop/default-deny", "spec.policyTypes")]


def test_servers_that_let_nobody_in_are_reported_once() -> None:
    deny = WEB[WEB.index("---") :].replace("shop", "kube-system")
    assert lint(WEB.replace("[Ingress, Egress]", "[Ingress]") + deny) == [
        ("NetworkPolicy kube-system/default-deny", "spec.podSelector")
    ]


DENY_ALL = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
"""
APPS = "".join(
    f"""---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec: {{template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: a}}]}}}}}}
"""
    for name in ("frontend", "backend", "payments")
)
DNS = f"{{to: [{{namespaceSelector: {{}}, podSelector: {{matchLabels: {{k8s-app: kube-dns}}}}}}], {BOTH}}}"


def allow(name: str, *rules: str) -> str:
    return f"""---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: {name}}}
spec: {{podSelector: {{matchLabels: {{app: {name}}}}}, policyTypes: [Egress], egress: [{", ".join(rules)}]}}
"""


def messages(text: str) -> list[str]:
    reading = LoadedFiles()
    reading.add("tree.yaml", text)
    return [f"{row.manifest}: {row.message}" for row in findings(ObjectSet(reading.manifests, is_complete=False))]


def test_lint12_a_rule_for_other_pods_of_the_namespace_does_not_count() -> None:
    """The finding names the policy that isolates the workload, and a namespace is never an empty name."""
    to_payments = "{to: [{podSelector: {matchLabels: {app: payments}}}], ports: [{port: 8080}]}"
    (found,) = messages(APPS + allow("frontend", DNS) + allow("backend", to_payments))
    assert found.startswith("NetworkPolicy backend: NetworkPolicy backend isolates pods of Deployment backend, and no")
    assert "on UDP 53 and TCP 53" in found
    assert messages(APPS + allow("frontend", DNS) + allow("backend", to_payments, DNS)) == []


def test_lint12_a_policy_that_denies_all_isolates_the_pods_without_a_rule_for_dns() -> None:
    (found,) = messages(APPS + "---" + DENY_ALL + allow("frontend", DNS))
    assert found.startswith(
        "NetworkPolicy deny: NetworkPolicy deny isolates pods of Deployment backend, Deployment pay"
    )
    assert messages(APPS + "---" + DENY_ALL) == [], "no pod of the namespace has any egress"
    sandbox = allow("backend") + allow("payments", DNS)
    assert messages(APPS + allow("frontend", DNS) + sandbox) == [], "a policy for these pods allows no egress at all"


def test_lint12_kube_system_has_no_label_name() -> None:
    guess = f"{{to: [{{namespaceSelector: {{matchLabels: {{name: kube-system}}}}}}], {BOTH}}}"
    (found,) = messages(APPS + allow("backend", guess))
    assert found.endswith("by a label that Kubernetes does not set; write kubernetes.io/metadata.name: kube-system")
    labelled = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system, labels: {name: kube-system}}\n"
    assert messages(APPS + allow("backend", guess) + labelled) == []
    assert messages(APPS + allow("backend", guess, DNS)) == []
    beside = guess.replace("}]", "}, {podSelector: {}}]", 1)
    assert messages(APPS + allow("backend", beside)), "peers are alternatives, so another peer does not help the guess"
