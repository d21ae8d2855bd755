"""Pods that run kubectl: what each command asks for, and whether the roles of a tree grant it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from compiler.manifest import Manifest
from compiler.verify.access import wildcards
from compiler.verify.access.commands import flaws
from compiler.verify.access.kubectl import parse, requests
from compiler.verify.access.scripts import commands, minor_version
from compiler.verify.tree import Tree
from tests.conftest import EXAMPLES
from tests.verify.isolation.cases import manifests, synced, tree, whole
from tests.verify.sound import unsound

ASKS = [
    ("get node worker", "get nodes"),
    ("get nodes -o name", "list nodes"),
    ("get pods,svc -n web -w", "list pods, watch pods, list services, watch services"),
    ("get jobs.batch/train -n ml", "get jobs.batch"),
    ("taint node $(NODE) a=b:NoSchedule --overwrite", "get nodes, patch nodes"),
    ("taint nodes -l pool=a a=b:NoSchedule", "list nodes, patch nodes"),
    ("label node/$(NODE) a.b/c=d", "get nodes, patch nodes"),
    ("annotate pods web --list", "get pods"),
    ("wait node/$(NODE) --for=condition=Ready", "get nodes, list nodes, watch nodes"),
    ("wait --for=create secret/token", "get secrets"),
    ("patch nodepool a --type merge -p {}", "get nodepools.karpenter.sh, patch nodepools.karpenter.sh"),
    ("delete pod a --ignore-not-found", "delete pods"),
    ("delete pods --all", "list pods, delete pods"),
    ("scale deploy/web --replicas 0", "get deployments.apps, patch deployments/scale.apps"),
    ("rollout restart ds agent", "get daemonsets.apps, patch daemonsets.apps"),
    ("rollout status deploy web", "get deployments.apps, list deployments.apps, watch deployments.apps"),
    ("cordon $(NODE)", "get nodes, patch nodes"),
    ("drain $(NODE) --ignore-daemonsets", "get nodes, patch nodes, list pods, create pods/eviction"),
    ("create configmap a --from-literal a=b", "create configmaps"),
    ("create secret generic a --from-literal=a=b", "create secrets"),
    ("create token robot", "create serviceaccounts/token"),
    ("create job --from=cronjob/a b", "create jobs.batch"),
    ("get widgets", ""),
    ("version", ""),
    ("apply -f -", None),
    ("get nodes --server=https://other", None),
    ("label node a b=c --dry-run=client", None),
    ("get pods --surprise x", None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), ASKS)
def test_what_a_command_asks_for(line: str, expected: str | None) -> None:
    command = parse(line.split())
    asked = ", ".join(f"{each.verb} {each.resource}" for each in requests(command, 34)) if command else None
    assert asked == expected


def test_since_its_version_35_kubectl_streams_instead_of_listing() -> None:
    command = parse(["wait", "node/a", "--for=condition=Ready"])
    assert command is not None
    assert [each.verb for each in requests(command, 34)] == ["get", "list", "watch"]
    assert [each.verb for each in requests(command, 35)] == [each.verb for each in requests(command, None)]
    tags = {
        "kubectl:v1.34.0": 34,
        "bitnami/kubectl:1.31": 31,
        "kubectl": None,
        "kubectl:latest": None,
        "a:v1.3500.0": None,
    }
    assert {tag: minor_version({"image": tag}) for tag in tags} == tags


SCRIPTS = [
    ("kubectl get nodes", ["get"]),
    ("set -e\nkubectl cordon a\nkubectl label node a b=c", ["cordon", "label"]),
    ("kubectl wait node a \\\n  --for=condition=Ready && kubectl uncordon a", ["wait", "uncordon"]),
    ("sleep 5; kubectl delete pod a", ["delete"]),
    ("if test -f x; then kubectl delete pod a; fi", []),
    ("test -f x && kubectl delete pod a\nkubectl get pods", ["get"]),
    ("kubectl get pods || true\nkubectl get nodes", []),
    ("kubectl get pods | wc -l", []),
    ("while true; do kubectl get pods; done", []),
    ("kubectl label node $(hostname) a=b", []),
    ("kubectl get pods; exit 0; kubectl get nodes", ["get"]),
    ("echo 'kubectl get pods", []),
]


@pytest.mark.parametrize(("script", "verbs"), SCRIPTS)
def test_of_a_script_only_what_certainly_runs_counts(script: str, verbs: list[str]) -> None:
    container = {"image": "any", "command": ["/bin/sh", "-ec"], "args": [script]}
    assert [each.words[0] for each in commands(container)] == verbs


def test_a_container_runs_kubectl_by_its_image_or_its_command() -> None:
    arguments = ["get", "nodes"]
    for container in (
        {"image": "registry.k8s.io/kubectl:v1.34.0", "args": arguments},
        {"image": "registry.example.com:5000/tools/kubectl@sha256:0", "args": arguments},
        {"image": "tools", "command": ["/usr/bin/kubectl"], "args": arguments},
        {"image": "tools", "command": ["kubectl", *arguments]},
    ):
        assert [each.words for each in commands(container)] == [("get", "nodes")]
    for container in (
        {"image": "tools", "args": arguments},
        {"image": "kubectl", "command": ["sleep"], "args": arguments},
        {"image": "kubectl", "args": arguments, "env": [{"name": "KUBECONFIG", "value": "/other"}]},
        {"image": "kubectl", "args": "get nodes"},
        {"image": 7, "args": arguments},
        None,
    ):
        assert list(commands(container)) == []


GATE = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: gate, namespace: ops}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ROLE
metadata: {name: gateHOME}
rules:
  - {apiGroups: [""], resources: [RESOURCES], verbs: [VERBS]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: BINDING
metadata: {name: gateBOUND}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ROLE, name: gate}
subjects: [SUBJECT]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gate, namespace: ops}
spec:
  template:
    spec:
      serviceAccountName: gate
      containers:
        - {name: gate, image: "kubectl:v1.34.0", args: [ARGS]}
"""
ACCOUNT = "{kind: ServiceAccount, name: gate, namespace: ops}"


def gate(
    args: str,
    verbs: str,
    resources: str = "nodes",
    role: str = "ClusterRole",
    binding: str = "",
    subject: str = ACCOUNT,
) -> str:
    """A Deployment that runs kubectl, and what its account may do."""
    binding = binding or f"{role}Binding"
    text = GATE.replace("ROLE", role).replace("BINDING", binding).replace("SUBJECT", subject)
    for place, kind in (("HOME", role), ("BOUND", binding)):
        text = text.replace(place, "" if kind.startswith("Cluster") else ", namespace: ops")
    return text.replace("ARGS", args).replace("VERBS", verbs).replace("RESOURCES", resources)


def told(text: str, *, is_whole: bool = True) -> list[tuple[str, str, Any]]:
    return [(each.fault.id, each.manifest.kind, each.path) for each in flaws(tree(text, is_whole=is_whole))]


def test_the_role_has_to_grant_what_the_command_needs() -> None:
    label = "label, node, $(NODE), a=b"
    assert told(gate(label, "get, patch")) == []
    assert told(gate(label, '"*"')) == []
    assert told(gate(label, "get, patch", '"*"')) == []
    assert told(gate(label, "get")) == [("RBA011", "ClusterRole", ("rules", 0, "verbs"))]
    assert told(gate(label, "get"), is_whole=False) == [("RBA012", "ClusterRole", ("rules", 0, "verbs"))]
    assert told(gate(label, "get, patch", "pods")) == [("RBA011", "ClusterRole", ("rules",))]
    assert told(gate("wait, node/a, --for=condition=Ready", "get, list, watch")) == []


def test_a_binding_has_to_hold_where_the_command_looks() -> None:
    assert told(gate("get, nodes", "list", binding="RoleBinding")) == [("RBA011", "RoleBinding", ("roleRef", "name"))]
    assert told(gate("get, pods", "list", "pods", "Role")) == []
    assert told(gate("get, pods, -n, ops", "list", "pods", "Role")) == []
    assert told(gate("get, pods, -n, web", "list", "pods", "Role")) == [("RBA011", "RoleBinding", ("roleRef", "name"))]
    assert told(gate("get, pods, -A", "list", "pods", "Role")) == [("RBA011", "RoleBinding", ("roleRef", "name"))]
    everybody = "{kind: Group, name: 'system:serviceaccounts:ops'}"
    assert told(gate("get, nodes", "list", subject=everybody)) == []
    assert told(gate("get, nodes", "list", subject="{kind: User, name: 'system:serviceaccount:ops:gate'}")) == []


def test_an_account_without_a_binding_may_nothing() -> None:
    text = gate("get, nodes", "list", subject="{kind: ServiceAccount, name: other, namespace: ops}")
    path = ("spec", "template", "spec", "serviceAccountName")
    assert told(text) == [("RBA011", "Deployment", path)]
    assert told(text, is_whole=False) == [], "it may be bound in other files"
    assert told(text.replace("serviceAccountName: gate", "serviceAccountName: charts")) == [], "a chart may bind it"
    assert told(text.replace("      serviceAccountName: gate\n", "")) == [("RBA011", "Deployment", path[:-1])]
    tokenless = text.replace(
        "serviceAccountName: gate", "serviceAccountName: gate\n      automountServiceAccountToken: false"
    )
    assert told(tokenless) == []


def test_roles_that_charts_bring_or_fill_may_grant_anything() -> None:
    text = gate("get, nodes", "watch")
    assert told(text.replace("kind: ClusterRole, name: gate", "kind: ClusterRole, name: of-a-chart")) == []
    assert told(text.replace("rules:", "aggregationRule: {clusterRoleSelectors: []}\nrules:")) == []
    view = text.replace("kind: ClusterRole, name: gate", "kind: ClusterRole, name: view")
    assert told(view) == [("RBA011", "ClusterRoleBinding", ("roleRef", "name"))], "nodes are not in it"
    assert told(view.replace("[get, nodes]", "[get, pods]")) == []
    assert told(view.replace("[get, nodes]", "[get, nodepools]")) == [], "a chart may add its own kinds to it"


def test_named_objects_bound_a_rule() -> None:
    text = gate("get, secret, token", "get", "secrets", "Role").replace("verbs: [", "resourceNames: [token], verbs: [")
    assert told(text) == []
    assert told(text.replace("secret, token", "secret, other")) == [("RBA011", "Role", ("rules", 0, "resourceNames"))]
    assert told(text.replace("secret, token", "secret, $(NAME)")) == [], "which one it is nobody knows"
    assert told(text.replace("get, secret, token", "get, secrets").replace("[get]", "[list]")) == [
        ("RBA011", "Role", ("rules", 0, "resourceNames"))
    ]


def broken(objects: tuple[Manifest, ...], kind: str, change: Any) -> list[Manifest]:
    found = []
    for each in objects:
        body = deepcopy(each.body)
        if each.kind == kind and each.name == "gpuc-layout-gate":
            change(body)
        found.append(replace(each, body=body))
    return found


def test_the_layout_gate_may_what_it_does_and_nothing_less_is_enough() -> None:
    objects = synced("infer-euw1")
    verbs = ("get", "list", "patch", "watch")
    for verb in verbs:
        less = broken(objects, "ClusterRole", lambda body, verb=verb: body["rules"][0]["verbs"].remove(verb))
        (flaw,) = flaws(whole(less))
        assert (flaw.fault.id, flaw.manifest.name, flaw.path) == ("RBA011", "gpuc-layout-gate", ("rules", 0, "verbs"))
        assert f"needs {verb} on nodes" in flaw.message
    (flaw,) = flaws(whole([each for each in objects if each.kind != "ClusterRoleBinding"]))
    assert (flaw.fault.id, flaw.manifest.kind) == ("RBA011", "DaemonSet")


def test_pods_of_a_few_commands_are_not_granted_everything() -> None:
    objects = synced("infer-euw1")
    for part in ("verbs", "resources", "apiGroups"):
        more = broken(objects, "ClusterRole", lambda body, part=part: body["rules"][0].__setitem__(part, ["*"]))
        (flaw,) = wildcards.flaws(whole(more))
        assert (flaw.fault.id, flaw.manifest.kind, flaw.path) == ("RBA013", "ClusterRole", ("rules", 0, part))
        assert "run only kubectl taint, kubectl wait" in flaw.message
        assert list(wildcards.flaws(Tree(more, is_whole=False))) == [], "pods of other files may need it"
    text = gate("get, nodes", '"*"')
    assert len(list(wildcards.flaws(tree(text)))) == 1
    assert (
        list(wildcards.flaws(tree(text.replace("[get, nodes]", "[rollout, undo]").replace("kubectl:v1", "other:v1"))))
        == []
    )
    assert list(wildcards.flaws(tree(gate("get, nodes", '"*"', subject="{kind: Group, name: admins}")))) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_grant_what_they_need(name: str) -> None:
    assert list(flaws(whole(synced(name)))) == []
    assert list(wildcards.flaws(whole(synced(name)))) == []


@pytest.mark.parametrize("strange", [None, True, 7, "", "x", [], {}, [[]], [None], {"": None}, ["$("], ["-n"]])
def test_strange_values_are_survived(strange: Any) -> None:
    text = gate("get, nodes", "watch")
    for number, each in enumerate(manifests(text)):
        for key in each.body:
            objects = manifests(text)
            objects[number] = replace(each, body={**each.body, key: strange})
            judged = Tree(objects, is_whole=True)
            assert unsound([*flaws(judged), *wildcards.flaws(judged)], objects) == []
    for part in ("command", "args", "env", "image"):
        container = {"image": "kubectl", "args": ["get", "nodes"], part: strange}
        spec = {"template": {"spec": {"containers": [container]}}}
        pods = Manifest("a.yaml", (), "apps/v1", "Deployment", "a", {"spec": spec}, "ops")
        assert unsound(flaws(Tree([pods], is_whole=True)), [pods]) == []
