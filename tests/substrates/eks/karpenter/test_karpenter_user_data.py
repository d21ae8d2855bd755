"""User data, parsed as by cloud-init, nodeadm and a shell."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from gpuc.emit.template import shell_quoted
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.substrates.eks.karpenter.component import karpenter
from tests.substrates.eks.karpenter.gpu_node import CLIENTS, SCRIPT, files_written, parts

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]

SHELL, NODE_CONFIG = "text/x-shellscript", "application/node.eks.aws"


def user_data(cluster: Cluster) -> dict[str, str]:
    """Returns the user data by pool, without pools that have none."""
    return {
        manifest.name: manifest.body["spec"]["userData"]
        for manifest in karpenter(cluster)
        if isinstance(manifest, Manifest) and manifest.kind == "EC2NodeClass" and "userData" in manifest.body["spec"]
    }


def bash_accepts(script: str) -> bool:
    return subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_every_gpu_pool_has_an_archive_that_parses(reference: Cluster) -> None:
    found = user_data(reference)
    assert set(found) == {pool.name for pool in reference.gpu_pools}
    for text in found.values():
        shell = parts(text)[SHELL]
        assert shell.startswith("#!/bin/bash\n")
        assert bash_accepts(shell)
        assert len(text) < 12 * 1024  # the limit of EC2 is 16 KiB, and Karpenter needs a part of it


def test_containers_get_gpus_from_mounts_only_or_the_kubelet_does_not_start(reference: Cluster) -> None:
    for text in user_data(reference).values():
        files = files_written(parts(text)[SHELL])
        drop_in = "/etc/systemd/system/kubelet.service.d/50-gpuc.conf"
        assert next(iter(files)) == drop_in, "whatever else fails"
        assert {"Requires=gpuc-toolkit.service", "After=gpuc-toolkit.service"} <= set(files[drop_in].splitlines())
        unit = files["/etc/systemd/system/gpuc-toolkit.service"]
        assert "Before=containerd.service kubelet.service" in unit
        (command,) = (line for line in unit.splitlines() if "nvidia-ctk" in line)
        words = command.split()
        assert "accept-nvidia-visible-devices-envvar-when-unprivileged=false" in words
        assert "accept-nvidia-visible-devices-as-volume-mounts=true" in words


def test_s1_the_node_joins_before_its_gpus_are_prepared(reference: Cluster) -> None:
    for text in user_data(reference).values():
        shell = parts(text)[SHELL]
        files = files_written(shell)
        drop_in = files["/etc/systemd/system/kubelet.service.d/50-gpuc.conf"]
        assert "gpuc-gpus" not in drop_in.split("[Service]")[0], "the kubelet does not wait for the GPUs"
        # With the minus sign, the kubelet also runs if the unit cannot start.
        assert "ExecStartPost=-/usr/bin/systemctl start --no-block gpuc-gpus.service" in drop_in
        outside = re.sub(r"<<'END'\n.*?\nEND\n", "", shell, flags=re.DOTALL)
        assert "systemctl enable gpuc-gpus.service\n" in outside and "systemctl start" not in outside


def test_s1_after_a_reboot_the_kubelet_waits_for_the_gpus(reference: Cluster) -> None:
    for text in user_data(reference).values():
        unit = files_written(parts(text)[SHELL])["/etc/systemd/system/gpuc-gpus.service"].splitlines()
        assert {"Before=kubelet.service", "WantedBy=multi-user.target"} <= set(unit)
        (after,) = (line.removeprefix("After=").split() for line in unit if line.startswith("After="))
        assert {"nvidia-kmod-load.service", "nvidia-fabricmanager.service", *CLIENTS} <= set(after)


def test_s3_errors_of_the_units_are_on_the_serial_console(reference: Cluster) -> None:
    for text in user_data(reference).values():
        files = files_written(parts(text)[SHELL])
        for name in ("gpuc-gpus", "gpuc-toolkit"):
            assert "StandardError=journal+console" in files[f"/etc/systemd/system/{name}.service"]


def test_only_pools_with_mig_are_cut(reference: Cluster) -> None:
    scripts = {name: files_written(parts(text)[SHELL])[SCRIPT] for name, text in user_data(reference).items()}
    assert {name for name, script in scripts.items() if "-cgi" in script} == {"serve-a100", "lab-h100"}


def test_training_nodes_pin_cores(reference: Cluster) -> None:
    for name, text in user_data(reference).items():
        config = parts(text).get(NODE_CONFIG)
        if name not in ("train-h100", "batch-a100"):
            assert config is None
            continue
        assert config is not None
        document = yaml.safe_load(config)
        assert (document["apiVersion"], document["kind"]) == ("node.eks.aws/v1alpha1", "NodeConfig")
        kubelet = document["spec"]["kubelet"]["config"]
        assert (kubelet["cpuManagerPolicy"], kubelet["topologyManagerPolicy"]) == ("static", "best-effort")
        assert all(isinstance(value, str) for value in kubelet["topologyManagerPolicyOptions"].values())


def test_efa_nodes_lift_the_memory_lock(reference: Cluster) -> None:
    path = "/etc/systemd/system/containerd.service.d/50-gpuc-memlock.conf"
    lifted = {name for name, text in user_data(reference).items() if path in files_written(parts(text)[SHELL])}
    assert lifted == {"train-h100", "batch-a100"}


def test_ubuntu_nodes_join_by_themselves_with_karpenters_taint(variant: Variant) -> None:
    def ubuntu(spec: dict[str, Any]) -> None:
        spec["pools"]["dev-l4"].setdefault("eks", {})["image"] = {"family": "Ubuntu", "id": "ami-0123456789abcdef0"}

    script = user_data(variant(ubuntu))["dev-l4"]
    assert bash_accepts(script)
    traced = script.replace("/etc/eks/bootstrap.sh", "printf '%s\\n'")
    words = subprocess.run(["bash"], input=traced, text=True, capture_output=True, check=True).stdout.splitlines()
    assert words == [
        "prod-use1", "--kubelet-extra-args", "--register-with-taints=karpenter.sh/unregistered:NoExecute",
    ]  # fmt: skip


def test_bottlerocket_shares_gpus_by_its_settings(variant: Variant) -> None:
    def bottlerocket(spec: dict[str, Any]) -> None:
        spec["pools"]["dev-l4"].setdefault("eks", {})["image"] = "bottlerocket@v1.40.0"

    plugin = tomllib.loads(user_data(variant(bottlerocket))["dev-l4"])["settings"]["kubelet-device-plugins"]["nvidia"]
    assert plugin["device-sharing-strategy"] == "time-slicing"
    assert plugin["time-slicing"] == {
        "replicas": 4, "rename-by-default": True, "fail-requests-greater-than-one": True,
    }  # fmt: skip
    assert plugin["device-list-strategy"] == "volume-mounts"


@pytest.mark.parametrize("hostile", ["a\nb", "a\rb", "a\u2028b", "a\x00b", "a\x1bb"])
def test_a_value_cannot_end_its_line(hostile: str) -> None:
    with pytest.raises(ValueError, match="not allowed in user data"):
        shell_quoted(hostile)


@pytest.mark.parametrize("hostile", ["$(id)", "`id`", "a'b", 'a"b', "a;b", "a b", "*"])
def test_a_value_stays_one_word(hostile: str) -> None:
    script = f"printf '%s' {shell_quoted(hostile)}"
    assert subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout == hostile
