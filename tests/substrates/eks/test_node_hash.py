"""The hashed fields, as measured with the real hash functions in tests/conformance/karpenter_hashes.py."""

from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Pair
from gpuc.substrates.eks.node_hash import hashed_fields
from tests.pipeline.memory import compile_tree, source
from tests.values import changed, without

SPEC = ("spec", "template", "spec")
ABSENT = object()


@cache
def manifest(kind: str) -> Manifest:
    _, artifacts = compile_tree("prod-use1", source("prod-use1").tree)
    found = (artifact for artifact in artifacts if isinstance(artifact, Manifest))
    return next(artifact for artifact in found if (artifact.kind, artifact.name) == (kind, "train-h100"))


def hashed(kind: str, path: Path, value: Any) -> list[Path]:
    """The hashed fields that differ after an edit of an object."""
    before = manifest(kind)
    return [field.path for field in hashed_fields(Pair(before, with_field(before, path, value)))]


def with_field(before: Manifest, path: Path, value: Any) -> Manifest:
    """The object with another value of a field."""
    body = without(before.body, path) if value is ABSENT else changed(before.body, path, value)
    return replace(before, body=body)


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("NodePool", ("spec", "limits", "nodes"), "17"),
        ("NodePool", ("spec", "disruption", "consolidateAfter"), "1h"),
        ("NodePool", ("spec", "weight"), 10),
        ("NodePool", (*SPEC, "requirements", 0, "values"), ["p5e.48xlarge"]),
        ("NodePool", (*SPEC, "requirements"), ABSENT),
        ("EC2NodeClass", ("spec", "amiSelectorTerms", 0, "alias"), "al2023@v20260901"),
        ("EC2NodeClass", ("spec", "amiFamily"), "AL2023"),
        ("EC2NodeClass", ("spec", "subnetSelectorTerms"), [{"id": "subnet-0a1b2c3d"}]),
        ("EC2NodeClass", ("spec", "ipPrefixCount"), 4),
        ("EC2NodeClass", ("spec", "networkInterfaces", 0, "deviceIndex"), ABSENT),
        ("EC2NodeClass", ("spec", "blockDeviceMappings", 0, "ebs", "volumeSize"), "204800Mi"),
    ],
)
def test_a_field_outside_of_the_hash(kind: str, path: Path, value: Any) -> None:
    assert hashed(kind, path, value) == []


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("NodePool", (*SPEC, "expireAfter"), "24h"),
        ("NodePool", (*SPEC, "terminationGracePeriod"), "1h"),
        ("NodePool", (*SPEC, "startupTaints", 0, "value"), "other"),
        ("NodePool", ("spec", "template", "metadata", "labels", "example.com/rack"), "r1"),
        ("EC2NodeClass", ("spec", "userData"), "other"),
        ("EC2NodeClass", ("spec", "kubelet", "systemReserved", "cpu"), "2"),
        ("EC2NodeClass", ("spec", "tags", "owner"), ABSENT),
        ("EC2NodeClass", ("spec", "associatePublicIPAddress"), ABSENT),
        ("EC2NodeClass", ("spec", "networkInterfaces", 1, "interfaceType"), "interface"),
    ],
)
def test_a_field_in_the_hash(kind: str, path: Path, value: Any) -> None:
    assert hashed(kind, path, value) == [path]


def test_the_family_of_an_alias_is_in_the_hash_and_its_version_is_not() -> None:
    path = ("spec", "amiSelectorTerms", 0, "alias")
    assert hashed("EC2NodeClass", path, "bottlerocket@v1.50.0") == [("spec", "amiFamily")]


def test_the_default_of_a_missing_expiry_is_in_the_hash() -> None:
    (field,) = hashed("NodePool", (*SPEC, "expireAfter"), ABSENT)
    assert field == (*SPEC, "expireAfter")


@pytest.mark.parametrize(
    ("kind", "path", "value", "same"),
    [
        ("NodePool", (*SPEC, "expireAfter"), "240h", "14400m"),
        ("NodePool", (*SPEC, "terminationGracePeriod"), "72h", "72h0m0s"),
        ("EC2NodeClass", ("spec", "kubelet", "evictionSoftGracePeriod"), {"pid": "90s"}, {"pid": "1m30s"}),
    ],
)
def test_the_text_of_a_duration_is_not_in_the_hash(kind: str, path: Path, value: Any, same: Any) -> None:
    before = with_field(manifest(kind), path, value)
    assert not hashed_fields(Pair(before, with_field(before, path, same)))


def test_the_order_of_a_list_is_not_in_the_hash() -> None:
    taints = manifest("NodePool").body["spec"]["template"]["spec"]["taints"]
    assert len(taints) > 1
    assert hashed("NodePool", (*SPEC, "taints"), taints[::-1]) == []
    assert hashed("NodePool", (*SPEC, "taints"), taints[1:]) == [(*SPEC, "taints", 0)]
