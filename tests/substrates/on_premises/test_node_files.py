"""The files for nodes: the kubelet and kubeadm read them, and quotas count what the kubelet leaves to pods.

With GPUC_KUBELET=1, which `make conformance-all` sets, the test builds node_files.go once for each version. Without it,
it uses the program that is there, and else is skipped. No test starts a kubelet.
"""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.kubernetes.amounts import CPU, MEMORY, MIB
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.cache_folder import cache_folder
from gpuc.substrates.on_premises.kubelet import node_files, pins_cpus, settings
from tests.conftest import MACHINE_CLUSTERS, ROOT, example

MODULE = ROOT / "rehearsal/gpuc_rehearsal/tools/programs/kubernetes"
SOURCE = Path(__file__).with_name("node_files.go")
MAY_BUILD = os.environ.get("GPUC_KUBELET") == "1"
KUBELET, JOIN = "patches/kubeletconfiguration+merge.yaml", "join.yaml"
each_cluster = pytest.mark.parametrize("cluster", MACHINE_CLUSTERS)


def texts(cluster: str) -> dict[str, str]:
    """The files of a cluster by POOL/FILE."""
    return {text.file.partition("/nodes/")[2]: text.text for text in node_files(example(cluster))}


def program() -> Path:
    """The program with the code of the kubelet and of kubeadm; skips the test without it."""
    pins = b"".join(file.read_bytes() for file in (MODULE / "go.mod", MODULE / "go.sum", SOURCE))
    built = Path(cache_folder("tools")) / "node-files" / hashlib.sha256(pins).hexdigest()[:16] / "node-files"
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if MAY_BUILD and not built.exists() and os.access(go, os.X_OK):
        subprocess.run((go, "build", "-p", "2", "-ldflags=-s -w", "-o", built, SOURCE), cwd=MODULE, check=True)
    if not built.exists():
        pytest.skip("node_files.go was not built: set GPUC_KUBELET=1 (needs Go, and some minutes once)")
    return built


def said(folder: Path, files: dict[str, str]) -> dict[str, dict[str, Any]]:
    """What the program says about files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    command = (program(), *files)
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout
    return {row["file"]: row for row in map(json.loads, answer.splitlines())}


@each_cluster
def test_the_kubelet_leaves_what_quotas_count(cluster: str) -> None:
    files = texts(cluster)
    for pool in example(cluster).pools:
        config, own = yaml.safe_load(files[f"{pool.name}/{KUBELET}"]), settings(example(cluster), pool)
        server, reserved = pool.instances[0], config["kubeReserved"]
        kept = parse_quantity(reserved["memory"]) + parse_quantity(config["evictionHard"]["memory.available"])
        allocatable = pool.allocatable(server)
        assert server.memory_mib * MIB - own.kernel - kept == allocatable[MEMORY]
        assert server.vcpu * 1000 - parse_quantity(reserved["cpu"]) * 1000 == allocatable[CPU]
        assert ("cpuManagerPolicy" in config) is pins_cpus(pool)
        assert config["maxPods"] == 110


@each_cluster
def test_a_new_node_has_the_taints_of_its_rule(cluster: str) -> None:
    for pool in example(cluster).pools:
        node = yaml.safe_load(texts(cluster)[f"{pool.name}/{JOIN}"])["nodeRegistration"]
        assert node["taints"] == [{"key": row.key, "value": row.value, "effect": row.effect} for row in pool.taints]
        assert node["kubeletExtraArgs"] == [{"name": "node-labels", "value": f"gpuc.dev/pool={pool.name}"}]


@pytest.mark.slow
@each_cluster
def test_the_kubelet_and_kubeadm_read_the_files(cluster: str, tmp_path: Path) -> None:
    files = {name: text for name, text in texts(cluster).items() if name.endswith(".yaml")}
    found = said(tmp_path, files)
    assert found.keys() == files.keys()
    for name, row in found.items():
        assert "error" not in row, row
        written = yaml.safe_load(files[name])
        if name.endswith(JOIN):
            taints = written["nodeRegistration"]["taints"]
            assert row.get("taints", []) == [f"{taint['key']}={taint['value']}:{taint['effect']}" for taint in taints]
        else:
            assert (row["pods"], row["reserved"]) == (written["maxPods"], written["kubeReserved"])
            assert row["eviction"] == written["evictionHard"] and row["policy"] in ("best-effort", "none")


@pytest.mark.slow
def test_the_kubelet_refuses_wrong_settings(tmp_path: Path) -> None:
    good = texts("lab-dc1")[f"train-h100/{KUBELET}"]
    wrong = {
        "pods.yaml": good.replace("maxPods: 110", "maxPods: -1"),
        "field.yaml": good.replace("maxPods:", "maxPod:"),
        "policy.yaml": good.replace("best-effort", "best"),
        "percent.yaml": good.replace("10%", "110%"),
        "cpu.yaml": good.replace('cpu: "2"', "cpu: 2"),
        "join.yaml": texts("lab-dc1")[f"train-h100/{JOIN}"].replace("taints:", "taint:"),
    }
    assert all(text not in (good, "") for text in wrong.values())
    assert {name for name, row in said(tmp_path, wrong).items() if "error" in row} == wrong.keys()
