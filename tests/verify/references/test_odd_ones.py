"""Node classes and node pools that differ from all others in what all others have alike."""

from __future__ import annotations

import pytest

from tests.verify.references.trees import told


def node_class(name: str, subnets: str = "demo-cluster", groups: str = "demo-cluster", tags: str = "{}") -> str:
    """A node class that selects by one tag."""
    return f"""
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: {name}}}
spec:
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: {subnets}}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: {groups}}}}}]
  tags: {tags}
"""


def odd(*texts: str, whole: bool = True) -> list[tuple[str, str]]:
    """Object and fix of what is odd."""
    return [(name, fix) for code, name, fix in told(*texts, whole=whole) if code in ("REF027", "REF029", "REF080")]


A, B = node_class("a"), node_class("b")


def test_one_node_class_that_selects_otherwise_is_odd() -> None:
    assert odd(A, B, node_class("c")) == odd(A, B) == []
    assert odd(A, B, node_class("c", subnets="another")) == [("EC2NodeClass c", "")]
    assert odd(A, B, node_class("c", subnets="another"), whole=False) == [], "a part may have two clusters"
    misspelt = node_class("c", groups="demo-clusters")
    assert odd(A, B, misspelt) == odd(A, B, misspelt, whole=False) == [("EC2NodeClass c", "write demo-cluster")]


def test_of_two_node_classes_one_place_of_four_is_odd() -> None:
    assert odd(A, node_class("b", groups="another")) == [("EC2NodeClass b", "")]
    assert odd(A, node_class("b", subnets="another", groups="another")) == [], "nobody knows which is meant"
    assert odd(node_class("a", groups="another")) == []


def test_several_terms_and_tags_that_not_all_have_say_nothing() -> None:
    twice = node_class("c", subnets="another").replace("Terms: [{", "Terms: [{id: subnet-1}, {", 1)
    assert odd(A, B, twice) == []
    assert odd(A, B, node_class("c").replace("karpenter.sh/discovery", "example.com/subnets", 1)) == []
    assert odd(node_class("a", subnets="x"), node_class("b", subnets="y"), node_class("c", subnets="z")) == []


@pytest.mark.parametrize(
    ("tag", "value", "fix"),
    [
        ("gpuc.dev/cluster", "another", [("EC2NodeClass c", "")]),
        ("example.com/cost-centre", "research", []),
        ("example.com/cost-centre", "reserch", []),
        ("example.com/cost-centre", "platfrom", [("EC2NodeClass c", "write platform")]),
    ],
)
def test_tags_of_instances_are_odd_where_they_name_the_cluster_or_are_misspelt(
    tag: str, value: str, fix: list[tuple[str, str]]
) -> None:
    usual = f"{{{tag}: platform}}"
    assert (
        odd(node_class("a", tags=usual), node_class("b", tags=usual), node_class("c", tags=f"{{{tag}: {value}}}"))
        == fix
    )


def pool(name: str, label: str = "sliced", taint: str = "sliced", startup: str = "", more: str = "") -> str:
    """A node pool with a label and a taint of one key."""
    return f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  template:
    metadata: {{labels: {{example.com/mode: {label}}}}}
    spec:
      taints: [{{key: example.com/mode, value: {taint}, effect: NoSchedule}}]
      startupTaints: [{startup}]
      requirements: [{more}]
"""


def test_a_label_that_is_not_as_the_taint_of_its_key_is_odd() -> None:
    two = (pool("a"), pool("b", "whole", "whole"))
    assert odd(*two, pool("c")) == []
    assert odd(*two, pool("c", "shared", "sliced")) == [("NodePool c", "")]
    assert odd(*two, pool("c", "slcied", "sliced")) == [("NodePool c", "write sliced")]
    assert odd(*two, pool("c", "shared", "sliced"), whole=False) == []
    assert odd(pool("a"), pool("c", "shared", "sliced")) == [], "two that differ show no rule"


def test_the_one_pool_without_the_taint_of_an_agent_is_odd() -> None:
    taint = "{key: node.cilium.io/agent-not-ready, value: 'true', effect: NoExecute}"
    two = (pool("a", startup=taint), pool("b", startup=taint))
    assert odd(*two, pool("c", startup=taint)) == []
    assert odd(*two, pool("c")) == [("NodePool c", "")]
    assert odd(*two, pool("c", startup=taint.replace("NoExecute", "NoSchedule"))) == [("NodePool c", "")]
    assert odd(*two, pool("c"), whole=False) == []
    assert odd(two[0], pool("c")) == [], "which of two is odd nobody knows"
    assert odd(two[0], pool("b"), pool("c")) == [], "most pools do without"
    windows = "{key: kubernetes.io/os, operator: In, values: [windows]}"
    assert odd(*two, pool("c", more=windows)) == []
    own = taint.replace("node.cilium.io/agent-not-ready", "example.com/layout")
    assert odd(pool("a", startup=own), pool("b", startup=own), pool("c")) == [], "agents of some nodes have such taints"
