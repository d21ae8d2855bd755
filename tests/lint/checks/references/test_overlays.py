"""Node overlays that give a resource to some instance types of a node pool only."""

from __future__ import annotations

import pytest

from tests.lint.checks.references.trees import reported


def pool(*types: str, more: str = "") -> str:
    """A node pool of instance types."""
    return f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: shared}}
spec:
  template:
    spec:
      requirements:
        - {{key: kubernetes.io/arch, operator: In, values: [amd64]}}
        - {{key: node.kubernetes.io/instance-type, operator: In, values: [{", ".join(types)}]}}
        {more}
"""


def overlay(types: str, capacity: str, key: str = "node.kubernetes.io/instance-type", name: str = "shared") -> str:
    """An overlay for types of a pool."""
    return f"""
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {{name: {types.replace(".", "-").replace(",", "-").replace(" ", "")}}}
spec:
  requirements:
    - {{key: karpenter.sh/nodepool, operator: In, values: [{name}]}}
    - {{key: {key}, operator: In, values: [{types}]}}
  capacity: {capacity}
"""


SHARED = '{nvidia.com/gpu: "0", nvidia.com/gpu.shared: "4"}'
SMALL, LARGE = "g6.2xlarge", "g6.4xlarge"


def found(*texts: str) -> list[str]:
    """Objects with a finding, which are the same in partial and complete input."""
    partial, complete = (
        [name for code, name, _ in reported(*texts, is_complete=is_complete) if code == "REF053"]
        for is_complete in (False, True)
    )
    assert partial == complete
    return complete


def test_types_without_a_resource_of_other_types_are_reported() -> None:
    both = pool(SMALL, LARGE)
    assert found(both) == []
    assert found(both, overlay(SMALL, SHARED), overlay(LARGE, SHARED)) == []
    assert found(both, overlay(f"{SMALL}, {LARGE}", SHARED)) == []
    assert found(both, overlay("g6", SHARED, "karpenter.k8s.aws/instance-family")) == []
    assert found(both, overlay(SMALL, SHARED)) == ["NodePool shared"]
    zero = SHARED.replace("4", "0")
    assert found(both, overlay(SMALL, SHARED), overlay(LARGE, zero)) == ["NodeOverlay g6-4xlarge"]


def test_the_finding_is_at_the_list_of_types() -> None:
    from tests.lint.checks.references.trees import tree
    from tests.lint.checks.topics import references as findings

    finding = next(
        finding for finding in findings(tree(pool(SMALL, LARGE), overlay(SMALL, SHARED))) if finding.rule.id == "REF053"
    )
    assert finding.path == ("spec", "template", "spec", "requirements", 1, "values")
    assert finding.message.startswith(
        "overlays give nvidia.com/gpu.shared to instance type g6.2xlarge of NodePool shared, but not to g6.4x"
    )


@pytest.mark.parametrize(
    "texts",
    [
        (pool("p4d.24xlarge", "p4de.24xlarge"), overlay("p4d.24xlarge", '{nvidia.com/mig-1g.5gb: "56"}'),
         overlay("p4de.24xlarge", '{nvidia.com/mig-1g.10gb: "56"}')),
        (pool(SMALL, LARGE), overlay(SMALL, '{nvidia.com/gpu: "1", vpc.amazonaws.com/efa: "1"}')),
        (pool(SMALL, "g5g.xlarge"), overlay(SMALL, SHARED)),
        (pool(SMALL, LARGE, more="- {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ['16']}"),
         overlay(SMALL, SHARED)),
        (pool(SMALL, LARGE, more="- {key: karpenter.k8s.aws/instance-size, operator: In, values: [2xlarge]}"),
         overlay(SMALL, SHARED)),
        (pool(SMALL, LARGE), overlay(SMALL, SHARED, name="another")),
    ],
    ids=["other slices", "the provider's own", "another processor", "bounds", "another size", "another pool"],
)  # fmt: skip
def test_types_that_do_not_need_the_resource_are_not_reported(texts: tuple[str, ...]) -> None:
    assert found(*texts) == []


def test_huge_pages_are_for_every_type() -> None:
    pages = overlay(SMALL, '{hugepages-2Mi: "1Gi"}')
    assert found(pool(SMALL, LARGE), pages) == ["NodePool shared"]
    assert found(pool(SMALL, LARGE), pages, overlay(LARGE, '{hugepages-2Mi: "2Gi"}')) == []
