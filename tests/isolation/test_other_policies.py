"""Policies that gpuc does not evaluate: the proof does not hold beside a policy that can allow connections."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.cli.main import run_command
from gpuc.isolation import dns_egress
from tests.isolation.cases import DENY, namespace, policy, tree

TENANTS = namespace("red", "r") + namespace("blue", "b")
CLOSED = TENANTS + policy("red", DENY) + policy("blue", DENY)
SUBJECT = "subject: {namespaces: {}}"
ALL_NAMESPACES = "{namespaces: {matchLabels: {}}}"


TENANTS_IN_DEFAULT = namespace("default", "d") + policy("red", "{podSelector: {}, ingress: [{}], egress: [{}]}", "d")


def other(api: str, kind: str, spec: str, space: str = "") -> str:
    where = f", namespace: {space}" if space else ""
    return f"---\napiVersion: {api}\nkind: {kind}\nmetadata: {{name: open{where}}}\nspec: {spec}\n"


def admin(action: str, priority: str = "priority: 1, ") -> str:
    return (
        f"{{{priority}{SUBJECT}, ingress: [{{action: {action}, from: [{ALL_NAMESPACES}]}}], "
        f"egress: [{{action: {action}, to: [{ALL_NAMESPACES}]}}]}}"
    )


CALICO = "{selector: all(), types: [Ingress, Egress], ingress: [{action: %s}], egress: [{action: %s}]}"
ANTREA = "{tier: emergency, appliedTo: [{namespaceSelector: {}}], ingress: [{action: %s, from: [{podSelector: {}}]}]}"
ENTITIES = "{endpointSelector: {}, ingress: [{fromEntities: [all]}], egress: [{toEntities: [all]}]}"
EVERYTHING = "{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{}], egress: [{}]}"
OPEN = {
    "AdminNetworkPolicy": other("policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicy", admin("Allow")),
    "BaselineAdminNetworkPolicy": other(
        "policy.networking.k8s.io/v1alpha1", "BaselineAdminNetworkPolicy", admin("Allow", "")
    ),
    "ClusterNetworkPolicy": other(
        "policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy", admin("Accept", "tier: Admin, priority: 1, ")
    ),
    "ClusterNetworkPolicy of EKS": other(
        "networking.k8s.aws/v1alpha1", "ClusterNetworkPolicy", admin("Accept", "tier: Admin, priority: 1, ")
    ),
    "ApplicationNetworkPolicy": other("networking.k8s.aws/v1alpha1", "ApplicationNetworkPolicy", EVERYTHING, "red"),
    "CiliumClusterwideNetworkPolicy": other("cilium.io/v2", "CiliumClusterwideNetworkPolicy", ENTITIES),
    "CiliumNetworkPolicy": other("cilium.io/v2", "CiliumNetworkPolicy", ENTITIES, "red")
    + other("cilium.io/v2", "CiliumNetworkPolicy", ENTITIES, "blue"),
    "GlobalNetworkPolicy": other("projectcalico.org/v3", "GlobalNetworkPolicy", CALICO % ("Allow", "Allow")),
    "GlobalNetworkPolicy of the CRD": other(
        "crd.projectcalico.org/v1", "GlobalNetworkPolicy", CALICO % ("Allow", "Allow")
    ),
    "GlobalNetworkPolicy that passes": other("projectcalico.org/v3", "GlobalNetworkPolicy", CALICO % ("Pass", "Pass")),
    "NetworkPolicy of Calico": other("projectcalico.org/v3", "NetworkPolicy", CALICO % ("Deny", "Allow"), "red"),
    "ClusterNetworkPolicy of Antrea": other("crd.antrea.io/v1beta1", "ClusterNetworkPolicy", ANTREA % "Allow"),
    "MultiNetworkPolicy": other("k8s.cni.cncf.io/v1beta1", "MultiNetworkPolicy", EVERYTHING, "red"),
    "NetworkPolicy": policy("red", EVERYTHING, "open") + policy("blue", EVERYTHING, "open"),
    "NetworkAttachmentDefinition": other("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "{config: ''}", "red"),
    "UserDefinedNetwork": other("k8s.ovn.org/v1", "ClusterUserDefinedNetwork", "{namespaceSelector: {}}"),
    "ClusterPolicy of Kyverno": other(
        "kyverno.io/v1", "ClusterPolicy", "{rules: [{name: a, generate: {kind: NetworkPolicy, name: open, data: {}}}]}"
    ),
    "NetworkPolicy without a namespace": other("networking.k8s.io/v1", "NetworkPolicy", EVERYTHING),
    "NetworkPolicy in default": TENANTS_IN_DEFAULT + other("networking.k8s.io/v1", "NetworkPolicy", EVERYTHING),
    "no spec": "---\napiVersion: policy.networking.k8s.io/v1alpha1\nkind: AdminNetworkPolicy\n"
    "metadata: {name: open}\nspec: {ingress: text}\n",
}
CLOSING = {
    "AdminNetworkPolicy": other("policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicy", admin("Deny")),
    "ClusterNetworkPolicy": other("policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy", admin("Pass")),
    "CiliumClusterwideNetworkPolicy": other(
        "cilium.io/v2", "CiliumClusterwideNetworkPolicy", "{endpointSelector: {}, ingressDeny: [{fromEntities: [all]}]}"
    ),
    "NetworkPolicy without a namespace": other("networking.k8s.io/v1", "NetworkPolicy", DENY),
    "NetworkPolicy of some pods": other(
        "networking.k8s.io/v1", "NetworkPolicy", "{podSelector: {matchLabels: {app: argocd}}, ingress: [{}]}"
    ),
    "host firewall": other(
        "cilium.io/v2", "CiliumClusterwideNetworkPolicy", "{nodeSelector: {}, ingress: [{fromEntities: [all]}]}"
    ),
    "GlobalNetworkPolicy": other("projectcalico.org/v3", "GlobalNetworkPolicy", CALICO % ("Deny", "Log")),
    "ClusterPolicy of Kyverno": other(
        "kyverno.io/v1", "ClusterPolicy", "{rules: [{name: a, match: {resources: {kinds: [NetworkPolicy]}}}]}"
    ),
}


def proven(folder: Path, text: str) -> int:
    file = folder / "tree.yaml"
    file.write_text(text, encoding="utf-8")
    return run_command(["isolation", str(file)])


@pytest.mark.parametrize("kind", OPEN)
def test_lint13_the_proof_does_not_hold_beside_a_policy_that_allows_everything(tmp_path: Path, kind: str) -> None:
    assert proven(tmp_path, CLOSED) == 0
    assert proven(tmp_path, CLOSED + OPEN[kind]) == 1


def test_lint13_the_report_names_the_policy_and_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert proven(tmp_path, CLOSED + OPEN["AdminNetworkPolicy"]) == 1
    output = capsys.readouterr().out
    assert "unproven  policies of other kinds do not allow more connections" in output
    assert f"gpuc cannot evaluate AdminNetworkPolicy open ({tmp_path}/tree.yaml)" in output
    assert output.endswith("The proof does not hold; unproven assumptions: 1.\n")


@pytest.mark.parametrize("kind", CLOSING)
def test_lint13_the_proof_holds_beside_a_policy_that_only_denies(tmp_path: Path, kind: str) -> None:
    assert proven(tmp_path, CLOSED + CLOSING[kind]) == 0


@pytest.mark.parametrize("kind", ["AdminNetworkPolicy", "ClusterPolicy of Kyverno"])
def test_lint13_dns_is_not_judged_beside_these_policies(kind: str) -> None:
    assert list(dns_egress.findings(tree(CLOSED)))
    assert not list(dns_egress.findings(tree(CLOSED + OPEN[kind])))
