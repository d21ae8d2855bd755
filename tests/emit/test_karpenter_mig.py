"""The partitioning script, run with a fake nvidia-smi that stores its state in files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuc.emit.nodes.al2023 import al2023
from gpuc.model import Cluster, Pool

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]

SMI = r"""#!/bin/bash
# Files mode-N are GPUs; instances-N has lines id:start. Instances need MIG mode and do not survive a reboot.
cd "$NODE" || exit 9
echo "$*" >>calls
[[ -z ${FAIL:-} || " $* " != *" $FAIL "* ]] || { echo "refused: $*" >&2; exit 15; }
gpu=; action=; argument=
while (($#)); do
  case $1 in
    -i) gpu=$2; shift ;;
    -mig|-cgi) action=$1; argument=$2; shift ;;
    -lgi|-dci|-dgi|-L|--gpu-reset|--query-gpu=*) action=$1 ;;
  esac
  shift
done
has() { [[ -s instances-$gpu ]]; }
case $action in
  --query-gpu=index) ls | sed -n 's/^mode-//p' ;;
  --query-gpu=mig.mode.current) cat "mode-$gpu" ;;
  -L)
    echo "GPU $gpu: NVIDIA (UUID: GPU-$gpu)"
    if [[ -e instances-$gpu ]]; then sed 's/.*/  MIG 1g.10gb     Device  0: (UUID: MIG-&)/' "instances-$gpu"; fi ;;
  -mig)
    has && { echo "in use" >&2; exit 3; }
    mode=Disabled; [[ $argument == 0 ]] || mode=Enabled
    if [[ -n ${PENDING:-} ]]; then echo "$mode" >"pending-$gpu"; else echo "$mode" >"mode-$gpu"; fi ;;
  --gpu-reset)
    [[ ${PENDING:-} == until-reset ]] || exit 4
    for file in pending-*; do mv "$file" "mode-${file#pending-}"; done ;;
  -lgi)
    has || { echo "No GPU instances found: Not Found"; exit 6; }
    echo "| GPU   Name             Profile  Instance   Placement  |"
    awk -F: -v gpu="$gpu" '{ print "|   " gpu "  MIG 1g.10gb       " $1 "        7          " $2 ":1     |" }' \
      "instances-$gpu" ;;
  -dci|-dgi) has || exit 6; [[ $action == -dci ]] || rm "instances-$gpu" ;;
  -cgi) [[ $(cat "mode-$gpu") == Enabled ]] || exit 7; tr , '\n' <<<"$argument" >>"instances-$gpu" ;;
  *) exit 8 ;;
esac
"""

SYSTEMCTL = '#!/bin/bash\necho "$*" >>"$NODE/systemctl"\n'


class Node:
    """A node with GPUs and with the script of a pool."""

    def __init__(self, folder: Path, pool: Pool, cluster: Cluster) -> None:
        self.folder = folder
        tools, self.state = folder / "bin", folder / "state"
        tools.mkdir()
        self.state.mkdir()
        script = al2023(cluster, pool).split("partition-gpus <<'END'\n")[1].split("\nEND\n")[0]
        for name, text in (("nvidia-smi", SMI), ("systemctl", SYSTEMCTL), ("partition-gpus", script)):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        self.environment = {"PATH": f"{tools}:{os.environ['PATH']}", "NODE": str(folder)}
        self.environment["STATE_DIRECTORY"] = str(self.state)
        for gpu in range(pool.instances[0].gpu_count):
            (folder / f"mode-{gpu}").write_text("Disabled\n")

    def boot(self, **environment: str) -> int:
        """Runs the script as its systemd unit does, and return the exit code."""
        (self.folder / "calls").unlink(missing_ok=True)
        command = [str(self.folder / "bin" / "partition-gpus")]
        done = subprocess.run(command, env=self.environment | environment, capture_output=True, check=False)
        return done.returncode

    def reboot(self) -> None:
        """Removes all instances and apply the pending MIG mode."""
        for file in self.folder.glob("instances-*"):
            file.unlink()
        for file in self.folder.glob("pending-*"):
            file.rename(self.folder / file.name.replace("pending", "mode"))

    def cut(self) -> list[list[str]]:
        """Returns the instances of all GPUs, sorted."""
        found = []
        for gpu in range(len(list(self.folder.glob("mode-*")))):
            file = self.folder / f"instances-{gpu}"
            found.append(sorted(file.read_text().split()) if file.exists() else [])
        return found

    def calls(self, option: str) -> int:
        lines = (self.folder / "calls").read_text().splitlines()
        return sum(option in line.split() for line in lines)

    def reboots(self) -> int:
        log = self.folder / "systemctl"
        return log.read_text().splitlines().count("reboot") if log.exists() else 0


def small(spec: dict[str, Any]) -> None:
    """MIG on a node with two GPUs: one is partitioned, the other is not."""
    pool = spec["pools"]["lab-h100"]
    pool["instances"] = ["g7e.12xlarge"]
    layouts = [{"index": [0], "layout": {"2g.48gb": 1, "1g.24gb": 2}}, {"index": [1], "whole": True}]
    pool["sharing"] = {"mig": {"gpus": layouts}}
    spec["queues"]["research"]["quota"]["lab-h100"] = {"nodes": 2}


@pytest.fixture
def node(tmp_path: Path, variant: Variant) -> Node:
    cluster = variant(small)
    (pool,) = (pool for pool in cluster.pools if pool.name == "lab-h100")
    return Node(tmp_path, pool, cluster)


@pytest.fixture
def wanted(variant: Variant) -> list[list[str]]:
    (pool,) = (pool for pool in variant(small).pools if pool.name == "lab-h100")
    assert pool.profiles is not None
    two, one = pool.profiles.profiles["2g.48gb"], pool.profiles.profiles["1g.24gb"]
    return [sorted([f"{two.smi_id}:0", f"{one.smi_id}:6", f"{one.smi_id}:9"]), []]


def test_the_first_boot_cuts(node: Node, wanted: list[list[str]]) -> None:
    assert node.boot() == 0
    assert node.cut() == wanted
    assert [(node.folder / f"mode-{gpu}").read_text() for gpu in (0, 1)] == ["Enabled\n", "Disabled\n"]


def test_a_second_run_changes_nothing(node: Node) -> None:
    assert node.boot() == 0
    assert node.boot() == 0
    assert [node.calls(option) for option in ("-mig", "-cgi", "-dgi", "--gpu-reset")] == [0, 0, 0, 0]


def test_instances_come_back_after_a_reboot(node: Node, wanted: list[list[str]]) -> None:
    assert node.boot() == 0
    node.reboot()
    assert node.cut() == [[], []]
    assert node.boot() == 0
    assert node.cut() == wanted


def test_another_layout_is_replaced(node: Node, wanted: list[list[str]]) -> None:
    for gpu, instances in ((0, wanted[0][:1]), (1, ["0:0"])):
        (node.folder / f"mode-{gpu}").write_text("Enabled\n")
        (node.folder / f"instances-{gpu}").write_text("\n".join(instances) + "\n")
    assert node.boot() == 0
    assert node.cut() == wanted
    assert (node.folder / "mode-1").read_text() == "Disabled\n"


def test_a_mode_that_waits_for_a_reset_gets_one(node: Node, wanted: list[list[str]]) -> None:
    assert node.boot(PENDING="until-reset") == 0
    assert node.calls("--gpu-reset") == 1
    assert (node.cut(), node.reboots()) == (wanted, 0)


def test_a_mode_that_waits_for_a_reboot_gets_one(node: Node, wanted: list[list[str]]) -> None:
    assert node.boot(PENDING="until-reboot") != 0  # the kubelet does not start before the reboot
    assert node.reboots() == 1
    node.reboot()
    assert node.boot(PENDING="until-reboot") == 0
    assert (node.cut(), node.reboots()) == (wanted, 1)
    assert list(node.state.iterdir()) == []


def test_a_mode_that_never_changes_reboots_once_only(node: Node) -> None:
    for _ in range(3):
        assert node.boot(FAIL="-mig") != 0
    assert node.reboots() == 1


@pytest.mark.parametrize("command", ["-cgi", "-L", "--query-gpu=mig.mode.current"])
def test_a_command_that_fails_keeps_the_kubelet_down(node: Node, command: str) -> None:
    assert node.boot(FAIL=command) != 0


def test_a_node_that_lacks_a_gpu_does_not_join(node: Node) -> None:
    (node.folder / "mode-1").unlink()
    assert node.boot() != 0


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
