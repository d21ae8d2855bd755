"""The script of user data that prepares GPUs, run with stubs of nvidia-smi and systemctl (see gpu_node.py)."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from gpuc.model import Cluster
from tests.conftest import Variant
from tests.substrates.eks.karpenter.gpu_node import CLIENTS, Node


def small(spec: dict[str, Any]) -> None:
    """MIG on a node with two GPUs: one is partitioned, the other is not."""
    pool = spec["pools"]["lab-h100"]
    pool["instances"] = ["g7e.12xlarge"]
    layouts = [{"index": [0], "layout": {"2g.48gb": 1, "1g.24gb": 2}}, {"index": [1], "whole": True}]
    pool["sharing"] = {"mig": {"gpus": layouts}}
    spec["queues"]["research"]["quota"]["lab-h100"] = {"nodes": 2}


def node_of(folder: Path, cluster: Cluster, name: str) -> Node:
    (pool,) = (pool for pool in cluster.pools if pool.name == name)
    return Node(folder, pool, cluster)


@pytest.fixture
def node(tmp_path: Path, variant: Variant) -> Node:
    return node_of(tmp_path, variant(small), "lab-h100")


@pytest.fixture
def a100(tmp_path: Path, reference: Cluster) -> Node:
    return node_of(tmp_path, reference, "serve-a100")


@pytest.fixture
def h100(tmp_path: Path, reference: Cluster) -> Node:
    return node_of(tmp_path, reference, "train-h100")


@pytest.fixture
def wanted(variant: Variant) -> list[list[str]]:
    (pool,) = (pool for pool in variant(small).pools if pool.name == "lab-h100")
    assert pool.profiles is not None
    two, one = pool.profiles.profiles["2g.48gb"], pool.profiles.profiles["1g.24gb"]
    return [sorted([f"{two.smi_id}:0", f"{one.smi_id}:6", f"{one.smi_id}:9"]), []]


def is_ready(node: Node) -> bool:
    """Returns whether the report for the GPU gate says that the GPUs are prepared."""
    condition = node.condition()
    assert condition is None or condition["type"] == "GpucGpusReady"
    return condition is not None and (condition["status"], condition["reason"]) == ("True", "Prepared")


def failure(node: Node) -> str:
    """Returns the message of the report, which must be the same as on the serial console."""
    condition = node.condition()
    assert condition is not None and (condition["status"], condition["reason"]) == ("False", "NotPrepared")
    (line,) = node.console()
    assert condition["message"] in line and "keeps the taint gpuc.dev/gpus" in line
    return str(condition["message"])


def test_the_first_boot_cuts(node: Node, wanted: list[list[str]]) -> None:
    assert node.boot() == 0
    assert (node.cut(), node.modes()) == (wanted, ["Enabled", "Disabled"])
    assert is_ready(node) and node.console() == []
    # The containers of the GPU gate do not run as root.
    assert (node.runtime / "node-status.json").stat().st_mode & 0o444 == 0o444


def test_a_second_run_changes_nothing(node: Node) -> None:
    assert node.boot() == 0
    before = node.units()
    assert node.boot() == 0
    assert [node.calls(option) for option in ("-mig", "-cgi", "-dgi", "--gpu-reset")] == [0, 0, 0, 0]
    assert node.units() == before, "no unit stops if the MIG mode is right"
    assert is_ready(node)


def test_instances_come_back_after_a_reboot(node: Node, wanted: list[list[str]]) -> None:
    assert node.boot() == 0
    node.reboot()
    assert node.cut() == [[], []] and node.condition() is None
    assert node.boot() == 0
    assert node.cut() == wanted and is_ready(node)


def test_another_layout_is_replaced(node: Node, wanted: list[list[str]]) -> None:
    for gpu, instances in ((0, wanted[0][:1]), (1, ["0:0"])):
        (node.folder / f"mode-{gpu}").write_text("Enabled\n")
        (node.folder / f"instances-{gpu}").write_text("\n".join(instances) + "\n")
    assert node.boot() == 0
    assert (node.cut(), node.modes()[1]) == (wanted, "Disabled")


def test_s1_on_hopper_the_mode_changes_without_reset_and_reboot(node: Node, wanted: list[list[str]]) -> None:
    assert node.boot(GPU="hopper") == 0
    assert (node.cut(), node.calls("--gpu-reset"), node.reboots()) == (wanted, 0, 0)


def test_s1_clients_of_the_image_stop_while_the_mode_changes_and_start_again(node: Node) -> None:
    assert node.boot() == 0
    assert node.units() == [
        "stop set-nvidia-clocks.service nvidia-persistenced.service",
        "start nvidia-persistenced.service set-nvidia-clocks.service",
    ]
    assert sorted(file.name for file in (node.folder / "active").iterdir()) == sorted(CLIENTS)


def test_s1_on_ampere_a_reset_changes_the_mode(a100: Node) -> None:
    assert a100.boot(GPU="ampere") == 0
    assert (a100.calls("--gpu-reset"), a100.reboots()) == (1, 0)
    assert is_ready(a100)


def test_s1_a_virtual_machine_reboots_for_the_mode_after_it_has_joined(a100: Node) -> None:
    (a100.pods / "aws-node").mkdir()
    assert a100.boot(GPU="ampere-vm") == 0
    assert (a100.reboots(), a100.condition(), a100.console()) == (1, None, [])
    a100.reboot()
    assert a100.modes() == ["Enabled"] * 8
    assert a100.boot(GPU="ampere-vm") == 0
    assert (a100.reboots(), [len(instances) for instances in a100.cut()]) == (1, [4] * 8)
    assert is_ready(a100) and list(a100.state.iterdir()) == []


@pytest.mark.slow
def test_s1_a_node_that_has_not_joined_waits_with_the_reboot(a100: Node) -> None:
    (a100.pods / "aws-node").mkdir()
    assert a100.boot(GPU="ampere-vm") == 0
    joined = a100.slept()
    (a100.pods / "aws-node").rmdir()
    a100.reboot()
    for gpu in range(8):
        (a100.folder / f"mode-{gpu}").write_text("Disabled\n")
    (a100.state / "rebooted-for-mig").unlink()
    assert a100.boot(GPU="ampere-vm") == 0
    assert 240 <= a100.slept() - 2 * joined <= 300


def test_s1_a_client_that_does_not_stop_costs_one_reboot(node: Node, wanted: list[list[str]]) -> None:
    (node.folder / "client").touch()
    assert node.boot(GPU="hopper") == 0
    assert (node.reboots(), node.condition()) == (1, None)
    node.reboot()
    for file in node.folder.glob("mode-*"):
        file.write_text("Disabled\n")  # on Hopper, the mode does not survive a reboot
    (node.folder / "client").unlink()
    assert node.boot(GPU="hopper") == 0
    assert (node.cut(), node.reboots()) == (wanted, 1)
    assert is_ready(node)


def test_s3_a_mode_that_never_changes_reboots_once_only(node: Node) -> None:
    (node.folder / "client").touch()
    assert node.boot() == 0
    for _ in range(2):
        assert node.boot() == 1
        assert failure(node) == "the MIG mode does not change, also after a reboot"
    assert node.reboots() == 1
    assert "In use by another client" in node.error, "the console has the message of nvidia-smi"


@pytest.mark.parametrize("command", ["-cgi", "-L", "--query-gpu=index"])
def test_s3_a_command_that_fails_is_reported(node: Node, command: str) -> None:
    assert node.boot(FAIL=command) == 1
    assert failure(node)
    assert not is_ready(node)


def test_s3_a_node_that_lacks_a_gpu_is_reported(node: Node) -> None:
    (node.folder / "mode-1").unlink()
    assert node.boot() == 1
    assert failure(node) == "nvidia-smi finds 1 of 2 GPUs"


def test_s3_a_script_that_systemd_stops_is_reported(node: Node) -> None:
    (node.folder / "bin" / "sleep").write_text('#!/bin/bash\ntouch "$NODE/sleeps"\nexec /bin/sleep 60\n')
    environment = node.environment | {"FAIL": "--query-gpu=index"}
    command = [str(node.folder / "bin" / "prepare-gpus")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, process_group=0) as process:
        while not (node.folder / "sleeps").exists():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGTERM)  # systemd sends the signal to all processes of the unit
        node.error = process.communicate()[1]
    assert process.returncode == 1
    assert failure(node) == "systemd has stopped prepare-gpus, for example after its time limit"


def test_s3_the_report_of_an_earlier_run_does_not_stay(node: Node) -> None:
    assert node.boot() == 0
    assert node.boot(FAIL="--query-gpu=index") == 1
    assert not is_ready(node)


def test_s2_a_node_without_its_fabric_manager_is_not_ready(h100: Node) -> None:
    (h100.folder / "failed-nvidia-fabricmanager.service").touch()
    assert h100.boot() == 1
    assert failure(h100) == "nvidia-fabricmanager.service is not active"
    assert 240 <= h100.slept() <= 300


@pytest.mark.slow
@pytest.mark.parametrize("state", [("In Progress", "N/A"), ("Completed", "Unknown Error"), ("N/A", "N/A")])
def test_s2_a_gpu_outside_the_fabric_is_not_ready(h100: Node, state: tuple[str, str]) -> None:
    (h100.folder / "fabric").write_text("\n".join(state) + "\n")
    assert h100.boot() == 1
    assert failure(h100).endswith(f"GPU 0 is not registered with the NVLink fabric: {', '.join(state)}")


def test_s2_gpus_in_the_fabric_are_ready(h100: Node) -> None:
    assert h100.boot() == 0
    assert is_ready(h100)
    assert (h100.calls("-mig"), h100.calls("-q")) == (0, 8)


@pytest.mark.parametrize(
    ("name", "fabric", "has_failed", "code"),
    [
        ("batch-a100", "N/A", False, 0),  # Ampere has a fabric manager, but no state of the fabric.
        ("batch-a100", "N/A", True, 1),
        ("dev-l4", "Completed", True, 0),  # GPUs without NVSwitch need no fabric manager.
    ],
)
def test_s2_what_a_node_needs_of_its_fabric(
    name: str, fabric: str, has_failed: bool, code: int, tmp_path: Path, reference: Cluster
) -> None:
    node = node_of(tmp_path, reference, name)
    (node.folder / "fabric").write_text(f"{fabric}\n{fabric}\n")
    if has_failed:
        (node.folder / "failed-nvidia-fabricmanager.service").touch()
    assert (node.boot(), is_ready(node)) == (code, code == 0)


def test_s2_only_gpus_without_mig_need_the_fabric(tmp_path: Path, reference: Cluster) -> None:
    node = node_of(tmp_path, reference, "lab-h100")
    assert node.boot() == 0
    assert node.calls("-q") == node.modes().count("Disabled") == 2


@pytest.mark.share(2)
@pytest.mark.parametrize(("name", "per_gpu"), [("serve-a100", [4] * 8), ("lab-h100", [7, 7, 7, 7, 2, 2, 0, 0])])
def test_the_reference_layouts_are_reached_without_overlap(
    tmp_path: Path, reference: Cluster, name: str, per_gpu: list[int]
) -> None:
    (pool,) = (pool for pool in reference.pools if pool.name == name)
    assert pool.profiles is not None
    sizes = {str(profile.smi_id): profile.size for profile in pool.profiles.profiles.values()}
    node = Node(tmp_path, pool, reference)
    assert node.boot() == 0
    assert [len(instances) for instances in node.cut()] == per_gpu
    for instances in node.cut():
        placed = [instance.split(":") for instance in instances]
        places = [int(start) + offset for profile, start in placed for offset in range(sizes[profile])]
        assert len(places) == len(set(places)) and all(place < 8 for place in places)
