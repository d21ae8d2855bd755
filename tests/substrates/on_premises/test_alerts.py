"""The alerts about the inventory fire and are silent with promtool, on the example with racks, spares and a repair."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gpuc.emit.alerts import node_labels
from gpuc.substrates.on_premises.section import by_rack, machines
from tests.alerts import promtool
from tests.alerts.case import Case, promtool_file, promtool_test, rules
from tests.alerts.series import STATE
from tests.conftest import example

CLUSTER, POOL = "hall-fra1", "train-h100"
FIRED = {"pool": POOL}
EXCLUDED = "gpu-b03"
SPEC = machines(example(CLUSTER).pools[0].spec)
RACKS = {name: rack for rack, names in by_rack(example(CLUSTER).spec.cloud, SPEC.nodes).items() for name in names}


def nodes(*missing: str, **wrong: dict[str, str]) -> dict[str, str]:
    """The series of all nodes for an hour: missing ones are not ready, and labels of others are wrong."""
    found = {}
    for name in SPEC.nodes:
        labels = {
            "label_gpuc_dev_pool": POOL,
            "label_gpuc_dev_rack": RACKS[name],
            "label_gpuc_dev_server_proven": "xe9680-h100",
            **wrong.get(name.replace("-", "_"), {}),
        }
        ready = "0x60" if name in missing else "1x60"
        found[STATE.series("kube_node_info", node=name)] = "1x60"
        found[STATE.series("kube_node_labels", node=name, **{key: text for key, text in labels.items() if text})] = (
            "1x60"
        )
        found[STATE.series("kube_node_status_condition", node=name, condition="Ready", status="true")] = ready
    return found


def cases() -> Iterator[Case]:
    silent, fires = {"14m": [], "20m": []}, {"14m": [], "20m": [FIRED]}
    in_use, missing = "GpucSparesInUse", "GpucInventoryMissing"
    for name, down, spares, inventory in (
        ("all nodes", (), silent, silent),
        ("only the excluded node is down", (EXCLUDED,), silent, silent),
        ("one spare stands in", ("gpu-a01",), fires, silent),
        ("both spares stand in", ("gpu-a01", "gpu-b01"), fires, silent),
        ("a promised node is missing", ("gpu-a01", "gpu-b01", "gpu-a02"), silent, fires),
        ("no node is ready", SPEC.nodes, silent, fires),
    ):
        yield Case(name, in_use, nodes(*down), spares)
        yield Case(name, missing, nodes(*down), inventory)
    yield Case("no series at all", missing, {}, silent)
    lost = {"50m": [{"node": "gpu-a02", "resource": "nvidia.com/gpu", **FIRED}]}
    yield Case("a lost GPU", "GpucNotAsAdvertised", broken("nvidia.com/gpu"), lost)
    yield Case("a lost GPU of an excluded node", "GpucNotAsAdvertised", broken("gpuc.dev/excluded"), {"50m": []})
    drift = "GpucNodeDrift"
    yield Case("all labels", drift, nodes(), silent)
    for name, labels in (
        ("no pool", {"label_gpuc_dev_pool": ""}),
        ("another pool", {"label_gpuc_dev_pool": "other"}),
        ("another rack", {"label_gpuc_dev_rack": "b"}),
        ("another machine", {"label_gpuc_dev_server_proven": ""}),
    ):
        yield Case(name, drift, nodes(gpu_a02=labels), {"14m": [], "20m": [{"node": "gpu-a02", **FIRED}]})


def broken(taint: str) -> dict[str, str]:
    """The series of a node that lost a GPU, with a taint."""
    return {
        **{series: values for series, values in nodes().items() if 'node="gpu-a02"' in series},
        STATE.series("kube_node_status_allocatable", node="gpu-a02", resource="nvidia_com_gpu", unit="integer"): "7x60",
        STATE.series("kube_node_spec_taint", node="gpu-a02", key=taint, effect="NoSchedule"): "1x60",
    }


def test_the_alerts_with_promtool(tmp_path: Path) -> None:
    program = promtool.find_promtool()
    if program is None:
        pytest.skip(promtool.MISSING)
    files = [promtool.rule_file(tmp_path, CLUSTER, group).name for group in ("records", "nodes")]
    file = tmp_path / "inventory.test.yaml"
    tests = [promtool_test(CLUSTER, case) for case in cases()]
    file.write_text(yaml.safe_dump(promtool_file(files, tests), sort_keys=False, width=200))
    assert promtool.run((str(program), "test", "rules", str(file))) == ""
    assert promtool.check_rules(program, tmp_path, CLUSTER).problem == ""


def test_each_alert_of_the_substrate_has_cases() -> None:
    table = Path(promtool.__file__).parents[2] / "compiler/gpuc/substrates/on_premises/alerts.toml"
    names = {line.strip("[]\n") for line in table.open() if line.startswith("[")}
    assert {case.alert for case in cases() if case.fires} == {*names, "GpucNotAsAdvertised"}
    assert {case.alert for case in cases() if not case.fires} == {*names, "GpucNotAsAdvertised"}
    assert names <= {rule.get("alert") for rule in rules(CLUSTER)["nodes"]}


def test_a_pool_without_spares_or_product_name_has_fewer_alerts_and_labels() -> None:
    assert "GpucSparesInUse" not in {rule.get("alert") for rule in rules("lab-dc1")["nodes"]}
    assert not {"gpuc.dev/rack", "gpuc.dev/server-proven"} & set(node_labels(example("lab-dc1")))
    assert {"gpuc.dev/rack", "gpuc.dev/server-proven"} < set(node_labels(example(CLUSTER)))
