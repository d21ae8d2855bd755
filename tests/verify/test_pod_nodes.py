"""B1: the pods of components, of users' manifests and of the templates have nodes that take them."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.cluster.index import Index
from gpuc.emit.component import components
from gpuc.emit.emitters import emit
from gpuc.lint.checks.references import taints
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.model import Cluster
from gpuc.objects.object_set import dig, emitted
from gpuc.objects.pods import pods_of
from gpuc.objects.selectors import node_terms, tolerations
from gpuc.pipeline.stages import compiled_spec
from gpuc.verify.charts.helm_values import no_node
from gpuc.verify.pod_nodes import SYSTEM_NODES, pool_nodes, refusal
from gpuc.verify.references.pods_without_node import pods_without_node
from gpuc.verify.subject import Subject
from tests.conftest import EXAMPLES, HUB_CLUSTERS, Change, root_of

TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
POOL = {
    "template": {
        "metadata": {"labels": {"gpuc.dev/pool": "l4"}},
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "l4"},
            "requirements": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"]},
                {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
            ],
            "taints": [TAINT],
        },
    }
}
ALL_CLUSTERS = (*EXAMPLES, *HUB_CLUSTERS, "custom-euc1")
each_cluster = pytest.mark.parametrize("name", ALL_CLUSTERS)


def pool() -> Manifest:
    return Manifest("out/pool.yaml", ("spec",), "karpenter.sh/v1", "NodePool", "l4", {"spec": POOL})


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    expression = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


ANY = {"tolerations": [{"operator": "Exists"}]}
SYSTEM = {"tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}]}
L4 = {"nodeSelector": {"gpuc.dev/pool": "l4"}}


@pytest.mark.parametrize(
    ("pod", "cause"),
    [
        ({}, "taint"),
        (ANY, ""),
        (SYSTEM, ""),
        ({"tolerations": [{"key": "CriticalAddonsOnly", "value": "true"}]}, ""),
        ({"tolerations": [{"key": "CriticalAddonsOnly", "value": "yes"}]}, "taint"),
        ({"tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists", "effect": "NoExecute"}]}, "taint"),
        ({"tolerations": [{"key": "criticalAddonsOnly", "operator": "Exists"}]}, "taint"),
        ({"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]}, ""),
        ({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}, "taint"),
        ({"tolerations": [{"value": "true"}]}, "taint"),
        ({"tolerations": [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}]}, ""),
        ({"tolerations": [TAINT]}, ""),
        ({**ANY, "nodeSelector": {"gpuc.dev/pool": "h100"}}, "gpuc.dev/pool In h100; existing: l4"),
        ({**ANY, **L4}, ""),
        ({**SYSTEM, **L4}, "taint"),
        ({**SYSTEM, "nodeSelector": {"company.example/role": "system"}}, ""),
        ({**SYSTEM, "nodeSelector": {"kubernetes.io/os": "windows"}}, "kubernetes.io/os In windows"),
        ({**ANY, "nodeSelector": {"topology.kubernetes.io/zone": "b"}}, ""),
        ({**ANY, **L4, **term("karpenter.sh/nodepool", "DoesNotExist")}, "all labels"),
        ({**SYSTEM, **term("karpenter.sh/nodepool", "DoesNotExist")}, ""),
        ({**SYSTEM, **term("karpenter.sh/nodepool", "Exists")}, "taint"),
        ({**ANY, **term("karpenter.sh/nodepool", "In", "l4")}, ""),
        ({**ANY, **term("gpuc.dev/pool", "NotIn", "l4")}, ""),
        ({"tolerations": [TAINT], **term("gpuc.dev/pool", "NotIn", "l4")}, "taint"),
        ({**ANY, **term("nvidia.com/gpu.product", "Exists")}, "nvidia.com/gpu.product Exists"),
    ],
)  # fmt: skip
def test_b1_nodes_take_pods_by_labels_and_taints(pod: dict[str, Any], cause: str) -> None:
    groups = [SYSTEM_NODES, *map(pool_nodes, Index(emitted([pool()])).nodes.pools)]
    refused = refusal(groups, node_terms(pod), tolerations(pod.get("tolerations")))
    assert cause in refused.message if refused and cause else (refused is None) == (not cause), refused


def test_b1_pods_of_a_daemonset_may_select_labels_that_nodes_get_after_their_start() -> None:
    (of_input,) = Index(emitted([pool()])).nodes.pools
    pod = {**ANY, "nodeSelector": {"nvidia.com/gpu.present": "true"}}
    accepted = tolerations(pod["tolerations"])
    assert refusal([pool_nodes(of_input, after_boot=True)], node_terms(pod), accepted) is None
    assert refusal([pool_nodes(of_input)], node_terms(pod), accepted)


def artifacts(name: str) -> list[Artifact]:
    """The artifacts of an example cluster, with the objects of users."""
    spec = "specs/custom-euc1.yaml" if name == "custom-euc1" else f"specs/{name}.yaml"
    return list(compiled_spec(root_of(name), spec).artifacts)


def without_nodes(manifest: Manifest) -> Manifest:
    """The object, whose pods select a label that no node has."""
    document = deepcopy(manifest.document())
    changed = replace(manifest, written=None, body={key: document[key] for key in manifest.body})
    for pods in pods_of(changed):
        pods.spec["nodeSelector"] = {"gpuc.dev/pool": "none-has-this-name"}
    return changed


@pytest.mark.share(3)
@each_cluster
def test_b1_the_proof_covers_every_object_with_pods(name: str) -> None:
    """All objects pass, and no object passes any more if its pods select nodes that do not exist."""
    plain = artifacts(name)
    assert list(pods_without_node(Subject.of(emitted(plain)))) == []
    # A runtime creates no pods: the queue of each TrainJob decides about the nodes, and the runtime names no queue.
    with_pods = {
        str(item)
        for item in plain
        if isinstance(item, Manifest) and any(not pods.record.is_runtime for pods in pods_of(item))
    }
    broken = [without_nodes(item) if isinstance(item, Manifest) and any(pods_of(item)) else item for item in plain]
    assert {str(found.manifest) for found in pods_without_node(Subject.of(emitted(broken)))} == with_pods
    assert with_pods


@pytest.mark.share(3)
@each_cluster
def test_b1_the_proof_covers_every_pod_of_a_component(name: str) -> None:
    plain = artifacts(name)
    charts = tuple(item for item in plain if isinstance(item, Values) and item.pods)
    assert list(no_node.find(Subject(emitted(plain), "1.35", {}, charts))) == []
    broken = []
    for chart in charts:
        body = deepcopy(chart.body)
        for path in chart.pods:
            dig(body, *path)["tolerations"] = []
        broken.append(replace(chart, body=body))
    found = {
        (item.manifest.name, item.path[:-1])
        for item in no_node.find(Subject(emitted(plain), "1.35", {}, tuple(broken)))
    }
    assert found == {(chart.component, path) for chart in charts for path in chart.pods}
    policy = next((item for item in plain if isinstance(item, Manifest) and item.kind == "ClusterPolicy"), None)
    if policy is not None:  # its operands: REF015
        body = {"spec": {**policy.body["spec"], "daemonsets": {"tolerations": []}}}
        objects = emitted([replace(policy, body=body) if item is policy else item for item in plain])
        assert taints.OPERATOR_KEPT_OFF in {finding.rule for finding in taints.findings(objects)}


def test_b1_every_component_with_pods_names_their_nodes(variant: Callable[[Change], Cluster]) -> None:
    kinds = {("apps", "Deployment"), ("apps", "DaemonSet"), ("batch", "Job")}
    with_pods = {component.name for component in components() if kinds.intersection(component.chart_kinds)}
    # An optional component belongs to a cluster only if the spec names the component.
    cluster = variant(lambda spec: spec.update(components={name: {} for name in with_pods}))
    pods = {item.component: item.pods for item in emit(cluster) if isinstance(item, Values)}
    assert with_pods == {name for name, places in pods.items() if places}
