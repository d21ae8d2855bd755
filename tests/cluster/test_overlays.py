"""Which NodeOverlays apply, and in which order."""

from typing import Any

import pytest

from gpuc.cluster.overlays import Overlay, Overlays
from gpuc.kubernetes.node_pool import INSTANCE_TYPE, NODE_POOL, offer
from gpuc.kubernetes.selector import POOL_OPERATORS, Requirement, equals, requirement
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet

OWN = offer((equals(NODE_POOL, "train"), equals(INSTANCE_TYPE, "p5.48xlarge"), equals("example.com/team", "a")))
"""What is known of the nodes of a type in a pool."""


def _object(name: str, **spec: Any) -> Manifest:
    return Manifest("a.yaml", (), "karpenter.sh/v1alpha1", "NodeOverlay", name, {"spec": spec})


def _overlay(*requirements: Requirement) -> Overlay:
    return Overlay(_object("o"), 0, requirements, {})


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
    assert _overlay(requirement(key, operator, values, POOL_OPERATORS)).applies(OWN) is expected


def test_one_requirement_that_fails_decides_before_those_that_are_not_known() -> None:
    unknown = requirement("topology.kubernetes.io/zone", "Exists")
    assert _overlay(unknown, equals(NODE_POOL, "serve")).applies(OWN) is False
    assert _overlay().applies(OWN) is True


def test_the_heaviest_comes_last_and_of_equal_weights_the_last_name() -> None:
    row = {"key": NODE_POOL, "operator": "In", "values": ["train"]}
    refused = {"key": NODE_POOL, "operator": "Is", "values": ["train"]}
    objects = [
        *(_object(name, requirements=[row], weight=weight) for name, weight in (("b", 5), ("a", 5), ("d", 9))),
        *(_object("c", requirements=[row]), _object("e", requirements=[refused])),
    ]
    found = Overlays(ObjectSet(objects, is_complete=True)).of("train", "p5.48xlarge", OWN)
    assert [overlay.manifest.name for overlay in found] == ["c", "a", "b", "d"]
