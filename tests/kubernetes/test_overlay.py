"""Which NodeOverlays apply, and whose capacity counts."""

from __future__ import annotations

import pytest

from gpuc.kubernetes.node_pool import INSTANCE_TYPE, NODE_POOL, offer
from gpuc.kubernetes.overlay import Overlay, applies, capacity, precedence
from gpuc.kubernetes.selector import POOL_OPERATORS, equals, requirement

OWN = offer((equals(NODE_POOL, "train"), equals(INSTANCE_TYPE, "p5.48xlarge"), equals("example.com/team", "a")))
"""What is known of the nodes of a type in a pool."""


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        (NODE_POOL, "In", ("train", "serve"), True),
        (NODE_POOL, "NotIn", ("train",), False),
        ("beta.kubernetes.io/instance-type", "In", ("p5.48xlarge",), True),
        ("example.com/team", "Exists", (), True),
        ("example.com/team", "DoesNotExist", (), False),
        ("example.com/other", "Exists", (), False),
        ("example.com/other", "NotIn", ("a",), True),
        ("topology.kubernetes.io/zone", "In", ("us-east-1a",), None),
        ("karpenter.k8s.aws/instance-cpu", "Gt", ("8",), None),
    ],
)
def test_requirements_are_met_by_what_is_known_of_the_nodes(
    key: str, operator: str, values: tuple[str, ...], expected: bool | None
) -> None:
    overlay = Overlay("o", 0, (requirement(key, operator, values, POOL_OPERATORS),), {})
    assert applies(overlay, OWN) is expected


def test_one_requirement_that_fails_decides_before_those_that_are_not_known() -> None:
    wanted = requirement("topology.kubernetes.io/zone", "Exists"), equals(NODE_POOL, "serve")
    assert applies(Overlay("o", 0, wanted, {}), OWN) is False
    assert applies(Overlay("o", 0, (), {}), OWN) is True


def test_the_heaviest_gives_a_resource_and_of_equal_weights_the_last_name() -> None:
    overlays = [
        Overlay("a", 5, (), {"x": "1", "y": "1"}),
        Overlay("b", 5, (), {"x": "2"}),
        Overlay("c", 0, (), {"x": "3", "y": "3", "z": "3"}),
        Overlay("d", 9, (), {"y": "4"}),
    ]
    found = capacity(sorted(overlays, key=precedence, reverse=True))
    assert {resource: overlay.name for resource, overlay in found.items()} == {"x": "b", "y": "d", "z": "c"}
