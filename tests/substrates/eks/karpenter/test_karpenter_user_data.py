"""User data of gpuc and of the spec, parsed as by cloud-init, nodeadm and a shell."""

import subprocess
import tomllib
from typing import Any

import pytest

from gpuc.emit.template import shell_quoted
from gpuc.model import Cluster
from gpuc.substrates.eks.karpenter.user_data import user_data
from tests.conftest import Variant
from tests.substrates.eks.karpenter.gpu_node import all_parts, files_written


def text_of(cluster: Cluster, name: str) -> str:
    (pool,) = (pool for pool in cluster.pools if pool.name == name)
    return user_data(cluster, pool)


def bash_accepts(script: str) -> bool:
    return subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_ubuntu_nodes_join_by_themselves_with_karpenters_taint(variant: Variant) -> None:
    script = text_of(variant(lambda spec: spec["pools"]["dev-l4"]["eks"].update(image=UBUNTU)), "dev-l4")
    assert bash_accepts(script)
    traced = script.replace("/etc/eks/bootstrap.sh", "printf '%s\\n'")
    words = subprocess.run(["bash"], input=traced, text=True, capture_output=True, check=True).stdout.splitlines()
    assert words == [
        "prod-use1", "--kubelet-extra-args", "--register-with-taints=karpenter.sh/unregistered:NoExecute",
    ]  # fmt: skip


def test_bottlerocket_shares_gpus_by_its_settings(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["pools"]["dev-l4"]["eks"].update(image="bottlerocket@v1.40.0"))
    plugin = tomllib.loads(text_of(cluster, "dev-l4"))["settings"]["kubelet-device-plugins"]["nvidia"]
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


SCRIPT = '#!/bin/bash\n# {{ pool }} {% raw %} $(id) `id` \\ \'\necho {{ boundary }} "two words"\n'
UBUNTU = {"family": "Ubuntu", "id": "ami-0123456789abcdef0"}


@pytest.mark.parametrize("name", ["general", "dev-l4", "train-h100"])
def test_the_script_is_a_part_of_its_own_after_the_part_of_gpuc(
    variant: Variant, reference: Cluster, name: str
) -> None:
    cluster = variant(lambda spec: spec["cloud"]["aws"].update(userData=SCRIPT))
    before = text_of(reference, name)
    gpuc = all_parts(before) if before else []
    found = all_parts(text_of(cluster, name))
    scripts = [text for kind, text in found if kind == "text/x-shellscript"]
    assert files_written(scripts[-1])["/usr/local/lib/gpuc/user-data"] == SCRIPT
    others = [(kind, files_written(text).keys()) for kind, text in found if text != scripts[-1]]
    assert others == [(kind, files_written(text).keys()) for kind, text in gpuc]


def test_a_pool_has_its_own_script_instead_of_the_clusters(variant: Variant) -> None:
    def two(spec: dict[str, Any]) -> None:
        spec["cloud"]["aws"]["userData"] = "#!/bin/sh\necho cluster\n"
        spec["pools"]["general"].setdefault("eks", {})["userData"] = "#!/bin/sh\necho pool\n"

    ((_, shell),) = all_parts(text_of(variant(two), "general"))
    script = files_written(shell)["/usr/local/lib/gpuc/user-data"]
    assert subprocess.run(["sh"], input=script, text=True, capture_output=True, check=True).stdout == "pool\n"


def test_on_ubuntu_the_script_runs_before_the_node_joins(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["pools"]["dev-l4"]["eks"].update(image=UBUNTU, userData=SCRIPT))
    (own, join) = all_parts(text_of(cluster, "dev-l4"))
    assert files_written(own[1])["/usr/local/lib/gpuc/user-data"] == SCRIPT
    assert "[[ ! -e /var/lib/gpuc/user-data-failed ]]\n/etc/eks/bootstrap.sh" in join[1]


def test_bottlerocket_gets_the_settings_of_both(variant: Variant) -> None:
    own = "[settings.host-containers.admin]\nenabled = false\n"
    cluster = variant(lambda spec: spec["pools"]["dev-l4"]["eks"].update(image="bottlerocket@v1.40.0", userData=own))
    settings = tomllib.loads(text_of(cluster, "dev-l4"))["settings"]
    assert settings["host-containers"] == {"admin": {"enabled": False}}
    assert "time-slicing" in settings["kubelet-device-plugins"]["nvidia"]
