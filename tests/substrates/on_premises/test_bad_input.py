"""Bad input about existing nodes: findings name the nodes and no cloud, and no input ends in a traceback."""

import copy
import random
import re
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.catalog import Catalog
from gpuc.diagnostics.finding import Finding, StageError
from gpuc.lint import checks
from gpuc.objects.object_set import emitted
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.fleet_policies import FleetPolicies
from gpuc.pipeline.stages import compile_source
from tests.conftest import MACHINES, Change
from tests.lanes import reduced
from tests.pipeline.memory import source
from tests.pipeline.test_mutated_specs import donors, key_of, mutate
from tests.values import walk

NAME = "lab-dc1"
NO_ZONES = (
    "remove eks from node pool train-h100; write topology: [rack, host] and cloud.onPremises.racks instead of zones"
)
MUTATIONS = 150
OF_A_CLOUD = re.compile(
    r"karpenter|\bec2\b|\baws\b|\beks\b|nodepool|\bami\b|spot|on-demand|reservations\b", re.IGNORECASE
)
"""Words that no message about existing nodes has, unless the spec has them."""


@cache
def catalog() -> Catalog:
    return fleet_catalog(MACHINES).catalog


def findings(tree: dict[str, Any]) -> list[Finding]:
    """The findings about a tree in the place of the example, also those of the checks of its objects."""
    changed = replace(source(NAME), tree=tree, raw={})
    try:
        done = compile_source(changed, FleetPolicies({}), catalog=catalog())
    except StageError as stop:
        return list(stop.findings)
    return [*done.findings, *(row.to_finding() for row in checks.findings(emitted(done.artifacts, catalog())))]


def found(change: Change) -> list[tuple[str, str, str]]:
    """The id, the place and the fix of each finding after a change of the spec of the example."""
    tree = copy.deepcopy(source(NAME).tree)
    change(tree["spec"])
    return [(row.id, ".".join(map(str, row.path[1:])), row.fix) for row in findings(tree)]


def test_the_example_has_no_finding() -> None:
    assert found(lambda spec: None) == []


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ({"instances": ["dgx-h10"]}, [("NOD014", "pools.train-h100.instances.0", "")]),
        ({"instances": ["dgxh100"]}, [("NOD014", "pools.train-h100.instances.0", "write dgx-h100")]),
        ({"eks": {"zones": ["us-east-1a"]}}, [("NOD001", "pools.train-h100.eks", NO_ZONES)]),
        ({"nodes": {"static": 3}}, [
            ("NOD003", "pools.train-h100.nodes", "remove the key nodes from node pool train-h100"),
        ]),
        ({"topology": ["zone", "host"]}, [("NOD008", "pools.train-h100.topology.0", "write topology: [host]")]),
    ],
)  # fmt: skip
def test_a_mistake_in_a_pool_has_its_findings(pool: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    ids = {row[0] for row in expected}
    assert [row for row in found(lambda spec: spec["pools"]["train-h100"].update(pool)) if row[0] in ids] == expected


def test_agents_that_do_not_tolerate_a_pool_are_found() -> None:
    """A patch leaves out the taint gpuc.dev/mode of all pools with GPUs."""
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    patch = {
        "target": {"kind": "ClusterPolicy", "name": "cluster-policy"},
        "why": "a test",
        "patch": {"spec": {"daemonsets": {"tolerations": tolerations}}},
    }
    assert [row[0] for row in found(lambda spec: spec.update(patches=[patch]))] == ["REF015"]


@pytest.mark.slow
def test_random_changes_end_in_findings_that_name_no_cloud() -> None:
    chance, values = random.Random(7), donors()
    for path, value in walk(source(NAME).tree):
        if len(path) > 1:
            values.setdefault(key_of(path), []).append(value)
    values["names"] += [[], ["gpu-a01"], ["gpu-b01", "gpu-b02"], ["gpu-a01", "gpu-a01"], ["GPU_1"], [None]]
    values["names"] += [["gpu-a[01-04]"], ["gpu-a[04-01]"], ["gpu-a[]"], ["gpu-a[1-99999]"], "gpu-a[01-02]"]
    values["spares"], values["excluded"] = [1, "10%", "100%", -1, 2.5, None], [{"gpu-a01": "broken"}, {"x": ""}, []]
    values["racks"] = [{"a": ["gpu-a[01-04]"]}, {"a": []}, {"a": ["gpu-a01"], "b": ["gpu-a01"]}, []]
    compiled, count = 0, reduced(MUTATIONS)
    for number in range(count):
        tree = mutate(source(NAME).tree, values, chance)
        own = set(OF_A_CLOUD.findall(str(tree).lower()))
        reported = findings(tree)
        compiled += not any(row.is_error for row in reported)
        if not tree["spec"].get("cloud", {}).get("onPremises"):
            continue
        # A message that lists the keys of a pool names the section eks.
        texts = [f"{row.message} {row.fix}" for row in reported if row.id not in ("SPC001", "NOD001")]
        words = {word.lower() for text in texts for word in OF_A_CLOUD.findall(text)}
        assert words <= own, (number, texts)
    assert compiled > count // 5


def test_a_wrong_place_of_the_cluster_is_a_finding() -> None:
    """The substrate is unknown, so that only rules about all substrates run."""
    assert [row[0] for row in found(lambda spec: spec.update(cloud={}))] == ["SPC005"]
    assert "SPC001" in [row[0] for row in found(lambda spec: spec.update(cloud={"metal": {}}))]


def test_a_server_in_a_cluster_on_eks_is_an_error() -> None:
    tree = copy.deepcopy(source("prod-use1").tree)
    tree["spec"]["pools"]["train-h100"]["instances"] = ["dgx-h100"]
    with pytest.raises(StageError) as stop:
        compile_source(replace(source("prod-use1"), tree=tree, raw={}), FleetPolicies({}))
    assert [row.id for row in stop.value.findings] == ["KRP101"]
