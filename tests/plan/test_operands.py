"""Which operands of the GPU Operator a changed field of the ClusterPolicy restarts."""

from typing import Any

import pytest

from gpuc.catalog.schemas import table
from gpuc.components.gpu_operator import operands
from gpuc.components.gpu_operator.impacts.driver import driver_keeps
from gpuc.components.gpu_operator.operands import DEVICE_PLUGIN, MIG_MANAGER, MPS, TOOLKIT, OperandChange
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.state import State


def policy(spec: dict[str, Any]) -> Manifest:
    return Manifest("", (), "nvidia.com/v1", "ClusterPolicy", "cluster-policy", {"spec": spec})


@pytest.mark.parametrize("path", operands._READERS, ids=".".join)
def test_the_fields_are_in_the_schema_of_the_cluster_policy(path: Path) -> None:
    known = table("nvidia.com/v1", "ClusterPolicy", "1.35")
    assert known is not None
    schema: Any = known.schema
    for step in ("spec", *path):
        if reference := schema.get("$ref"):
            schema = dig(known.schema, *reference.removeprefix("#/").split("/"))
        schema = schema["properties"][step]


@pytest.mark.parametrize(
    ("spec", "restarted"),
    [
        ({"gds": {"enabled": True}}, [DEVICE_PLUGIN]),
        ({"gds": {"version": "v1"}}, []),
        ({"toolkit": {"installDir": "/opt"}}, [TOOLKIT, DEVICE_PLUGIN, MIG_MANAGER]),
        ({"devicePlugin": {"mps": {"root": "/mps"}}}, [DEVICE_PLUGIN, MPS]),
        ({"nodeStatusExporter": {"env": []}}, []),
    ],
)
def test_a_field_restarts_the_operands_that_have_it(spec: dict[str, Any], restarted: list[str]) -> None:
    before: dict[str, Any] = {section: {} for section in spec}
    assert list(OperandChange(Pair(policy(before), policy(spec))).restarted) == restarted


def test_the_driver_is_installed() -> None:
    before, after = (
        State("test", ObjectSet([policy({"driver": {"enabled": enabled}})], is_complete=True))
        for enabled in (False, True)
    )
    (raised,) = driver_keeps.find(Change(before, after))
    assert raised.message == "the GPU Operator starts driver pods on the GPU nodes"
