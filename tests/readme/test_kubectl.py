"""Mistakes in `kubectl` commands are found."""

from __future__ import annotations

import shlex

import pytest

from tests.readme.jsonpath import column_paths, template_paths
from tests.readme.kubectl import kubectl_problems

CORRECT = (
    "get nodes -l '!karpenter.sh/nodepool' -L a,b -o wide",
    "-n kube-system get daemonset aws-node -o yaml",
    "get nodepools,ec2nodeclasses,nodeoverlays",
    "get deployment/a deployment/b -n c",
    "get --raw /readyz",
    "get ec2nodeclasses a -o custom-columns='POOL:.metadata.name,FOUND:.status.capacityReservations[*].id'",
    """get nodeclaims -o jsonpath='{range .items[?(@.status.nodeName=="NODE")]}{.metadata.name}{"\\n"}{end}'""",
    "get nodes -o custom-columns='NAME:metadata.name,POOL:.metadata.labels.gpuc\\.dev/pool'",
    "get pods -A --field-selector spec.nodeName=NODE",
    "get events -A --field-selector involvedObject.kind=NodeClaim,reason!=a",
    "get constrainttemplates,constraints",
    "logs -n a deployment/b -f -p --tail 5",
    "patch workload -n a b --type merge -p '{\"spec\": {}}'",
    "annotate KIND NAME a-",
    "delete nodepool a b --wait=false --ignore-not-found",
    "delete pods -n a --all",
    "create namespace a",
    "auth can-i list secrets --all-namespaces",
    "auth can-i get /metrics",
    "auth whoami",
    "wait nodes a --for condition=Ready --timeout 5m",
    "apply --server-side -n a -f file.yaml",
)
WRONG = {
    "gte nodes": "kubectl has no verb gte; did you mean get?",
    "get nodez": "no resource has the name nodez; did you mean node?",
    "get nodepools,ec2nodeclas": "no resource has the name ec2nodeclas",
    "get": "kubectl get needs a resource",
    "get nodes --selectr a": "unknown option --selectr; did you mean --selector?",
    "get nodes -z": "unknown option -z",
    "get nodes -l": "option --selector needs a value",
    "get nodes --watch=5": "takes no value",
    "get pods": "pods are in namespaces: write -n or -A",
    "get nodes -o jsn": "--output jsn",
    "get nodes -o jsonpath='{.items[*].metadata.name'": "has no closing brace",
    "get nodes -o jsonpath='{.items[?(@.a=b)].c}'": "cannot read",
    "get nodes -o jsonpath='{range .items[*]}{.a}'": "has a {range} without an {end}",
    "get nodes -o jsonpath='{.a}{end}'": "has an {end} without a {range}",
    "get nodes -o jsonpath=": "needs a text",
    "get nodes -o custom-columns=NAME": "NAME is not HEADER:PATH",
    "get nodes -o custom-columns='A:.a[?(@.b==\"c,d\")]'": "cannot read [?(@.b==",
    "get pods -A --field-selector spec.node=a": "--field-selector spec.node=a",
    "get pods -A --field-selector involvedObject.kind=a": "--field-selector involvedObject.kind=a",
    "get nodeclaims --field-selector status.nodeName=a": "--field-selector status.nodeName=a",
    "patch workload -n a b -p '{spec: {}}'": "is not JSON",
    "patch workload -n a b": "kubectl patch needs -p",
    "patch workload -n a b --type mergee -p '{}'": "--type mergee",
    "annotate nodes a": "needs KEY=VALUE or KEY-",
    "delete nodepool": "kubectl delete needs a name",
    "delete nodepool a --cascade=orphans": "--cascade orphans",
    "auth can-i list secretes": "no resource has the name secretes",
    "create deploymentt a": "kubectl create deploymentt is not known",
    "apply --server-side": "kubectl apply needs -f",
}


@pytest.mark.parametrize("command", CORRECT)
def test_a_correct_command_has_no_problem(command: str) -> None:
    assert list(kubectl_problems(shlex.split(command))) == []


@pytest.mark.parametrize("command", WRONG)
def test_a_wrong_command_has_a_problem(command: str) -> None:
    found = list(kubectl_problems(shlex.split(command)))
    assert any(WRONG[command] in problem for problem in found), found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}', ""),
        ('{"apiVersion": "v1", "kind": "Namespac", "metadata": {"name": "a"}}', "v1 has no kind Namespac"),
        ('{"kind": "Namespace"}', "needs apiVersion, kind and metadata"),
        ('{"kind": ', "is not YAML"),
        ("", "without an object"),
    ],
)
def test_the_standard_input_has_objects(text: str, problem: str) -> None:
    found = list(kubectl_problems(["apply", "-f", "-"], text))
    assert problem in found[0] if problem else found == []


def test_templates_name_the_fields() -> None:
    template = '{range .items[?(@.status.nodeName=="N")]}{.metadata.name}{"\\n"}{end}'
    assert template_paths(template) == [
        ("items", "*", "status", "nodeName"),
        ("items", "*"),
        ("items", "*", "metadata", "name"),
    ]
    assert column_paths(r"A:.metadata.labels.a\.b/c,B:.x[?(@.type=='T')].y") == [
        ("metadata", "labels", "a.b/c"),
        ("x", "*", "type"),
        ("x", "*", "y"),
    ]
