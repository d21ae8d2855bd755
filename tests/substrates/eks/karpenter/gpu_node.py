"""A stand-in for a GPU node: the script of user data, with stubs of nvidia-smi and systemctl that store state in files.

No GPU was available: the stub of nvidia-smi is written from NVIDIA's documentation, and is not real output. Sources:
NVIDIA MIG User Guide, "Getting Started with MIG" (MIG mode, GPU reset on Ampere and on Hopper, driver clients, GPU
instances) and "Deployment Considerations" (persistence of the MIG mode); NVIDIA Fabric Manager User Guide 2.3, "Getting
Started" (state and status of the section Fabric); nvidia-smi(1).
"""

import json
import os
import shutil
import subprocess
from email import message_from_string
from pathlib import Path
from typing import Any

from gpuc.model import Cluster, Pool
from gpuc.substrates.eks.karpenter.user_data import user_data

SCRIPT = "/usr/local/lib/gpuc/prepare-gpus"

STUBS = Path(__file__).with_name("stubs")
"""The folder with the stubs of programs."""
CLIENTS = ("nvidia-persistenced.service", "set-nvidia-clocks.service")
"""Units of the image that use the GPUs."""


def parts(text: str) -> dict[str, str]:
    """Returns the parts of a MIME archive by content type; of parts with the same type, the last one."""
    return dict(all_parts(text))


def all_parts(text: str) -> list[tuple[str, str]]:
    """Returns content type and text of all parts of a MIME archive."""
    archive = message_from_string(text)
    assert archive.is_multipart() and not archive.defects
    assert not any(part.defects for part in archive.get_payload())
    return [(part.get_content_type(), part.get_payload()) for part in archive.get_payload()]


def files_written(shell: str) -> dict[str, str]:
    """Returns the files that a script writes from here-documents, by path."""
    found = {}
    path = end = ""
    for line in shell.splitlines():
        if line.startswith("cat >"):
            path, _, end = line.removeprefix("cat >").partition(" <<")
            end = end.strip("'")
            found[path] = ""
        elif line == end:
            path = ""
        elif path:
            found[path] += f"{line}\n"
    return found


class Node:
    """A node with GPUs and with the script of a pool."""

    def __init__(self, folder: Path, pool: Pool, cluster: Cluster) -> None:
        self.folder = folder
        tools, self.state, self.runtime = folder / "bin", folder / "state", folder / "run"
        self.pods = folder / "kubelet" / "pods"
        for directory in (self.state, self.runtime, self.pods, folder / "active"):
            directory.mkdir(parents=True)
        shells = [text for kind, text in all_parts(user_data(cluster, pool)) if kind == "text/x-shellscript"]
        script = files_written(shells[0])[SCRIPT]
        script = script.replace("/var/lib/kubelet", str(folder / "kubelet"))
        shutil.copytree(STUBS, tools)
        (tools / "prepare-gpus").write_text(script)
        (tools / "prepare-gpus").chmod(0o755)
        self.environment = {"PATH": f"{tools}:{os.environ['PATH']}", "NODE": str(folder)}
        self.environment |= {"STATE_DIRECTORY": str(self.state), "RUNTIME_DIRECTORY": str(self.runtime)}
        self.error = ""
        for unit in CLIENTS:
            (folder / "active" / unit).touch()
        (folder / "fabric").write_text("Completed\nSuccess\n")
        for gpu in range(pool.instances[0].gpu_count):
            (folder / f"mode-{gpu}").write_text("Disabled\n")

    def boot(self, **environment: str) -> int:
        """Runs the script as its systemd unit does, and returns the exit code."""
        (self.folder / "calls").unlink(missing_ok=True)
        command = [str(self.folder / "bin" / "prepare-gpus")]
        done = subprocess.run(command, env=self.environment | environment, capture_output=True, text=True, check=False)
        self.error = done.stderr
        return done.returncode

    def reboot(self) -> None:
        """Removes all instances and the report, applies the pending MIG mode and starts the units of the image."""
        for file in self.folder.glob("instances-*"):
            file.unlink()
        for file in self.folder.glob("pending-*"):
            file.rename(self.folder / file.name.replace("pending", "mode"))
        for file in self.runtime.iterdir():
            file.unlink()
        for unit in CLIENTS:
            (self.folder / "active" / unit).touch()

    def modes(self) -> list[str]:
        return [file.read_text().strip() for file in sorted(self.folder.glob("mode-*"))]

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

    def units(self) -> list[str]:
        """Returns the calls of systemctl."""
        log = self.folder / "systemctl"
        return log.read_text().splitlines() if log.exists() else []

    def reboots(self) -> int:
        return self.units().count("reboot")

    def slept(self) -> int:
        """Returns the seconds that the script has waited."""
        log = self.folder / "slept"
        return sum(int(line) for line in log.read_text().split()) if log.exists() else 0

    def condition(self) -> dict[str, Any] | None:
        """Returns the node condition in the report for the GPU gate; None without a report."""
        file = self.runtime / "node-status.json"
        if not file.exists():
            return None
        (condition,) = json.loads(file.read_text())["status"]["conditions"]
        assert isinstance(condition, dict)
        return condition

    def console(self) -> list[str]:
        """Returns the lines for the serial console that name the reason of a failure."""
        return [line for line in self.error.splitlines() if line.startswith("gpuc: ")]
