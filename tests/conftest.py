"""Where tests find the repository, the example clusters and the reference data."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gpuc.catalog import load
from gpuc.model import Cluster, resolve
from gpuc.source import read
from gpuc.spec.parse import parse

ROOT = Path(__file__).parent.parent
EXAMPLES = ("infer-euw1", "prod-use1", "train-usw2")

# No test depends on the speed of the machine.
settings.register_profile("gpuc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gpuc")


@cache
def example(name: str) -> Cluster:
    """The resolved cluster of one of the example specs."""
    file = f"specs/{name}.yaml"
    return resolve(parse(read(ROOT, file)), file, load())


@pytest.fixture
def prod() -> Cluster:
    """The production cluster of the reference spec."""
    return example("prod-use1")


@pytest.fixture
def shared() -> Path:
    """The folder with the reference data; the test skips where there is none."""
    folder = os.environ.get("GPUC_SHARED")
    if not folder:
        pytest.skip("GPUC_SHARED is not set: no reference data to compare with")
    return Path(folder)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what random specs were made of, and how many tests had no reference data to compare with."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "distribution":
                shares = ", ".join(f"{feature} {share:.0%}" for feature, share in value.items())
                terminalreporter.write_line(f"random specs: {shares}")
    without = [report for report in terminalreporter.stats.get("skipped", []) if "GPUC_SHARED" in str(report.longrepr)]
    if without:
        terminalreporter.write_line(f"{len(without)} tests skipped: GPUC_SHARED is not set")
