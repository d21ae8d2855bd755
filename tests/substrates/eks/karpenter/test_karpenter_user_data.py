"""User data, parsed as by cloud-init, nodeadm and a shell."""

from __future__ import annotations

import subprocess
import tomllib
from typing import Any

import pytest

from gpuc.emit.template import shell_quoted
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.substrates.eks.karpenter.component import karpenter
from tests.conftest import Variant


def user_data(cluster: Cluster) -> dict[str, str]:
    """Returns the user data by pool, without pools that have none."""
    return {
        manifest.name: manifest.body["spec"]["userData"]
        for manifest in karpenter(cluster)
        if isinstance(manifest, Manifest) and manifest.kind == "EC2NodeClass" and "userData" in manifest.body["spec"]
    }


def bash_accepts(script: str) -> bool:
    return subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


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
