"""Fixtures for the example clusters and the reference data, and a check that tests do not change the checkout."""

import copy
import gc
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from gpuc.catalog import load
from gpuc.model import Cluster, resolve
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.source import read
from gpuc.spec.cluster import ClusterSpec
from gpuc.spec.parse import parse
from tests.lanes import Lane, mark_slow_cases, reduced

ROOT = Path(__file__).parent.parent
EXAMPLES = ("infer-euw1", "prod-use1", "train-usw2")
REFERENCE = "specs/prod-use1.yaml"
"""The reference cluster, of which tests change copies."""
CUSTOM = ROOT / "examples/custom"
"""The root of the example fleet with all ways out, whose only cluster is custom-euc1."""
HUB = ROOT / "examples/hub"
MACHINES = ROOT / "examples/machines"
"""The root of the example fleet with two clusters from the same layers, and Argo CD in a hub."""
MACHINE_CLUSTERS = ("hall-fra1", "lab-dc1", "onprem-lab1")
HUB_CLUSTERS = ("vega-prod", "vega-staging")


def root_of(cluster: str) -> Path:
    """The root of the fleet of an example cluster."""
    if cluster in HUB_CLUSTERS:
        return HUB
    return {"custom-euc1": CUSTOM, **dict.fromkeys(MACHINE_CLUSTERS, MACHINES)}.get(cluster, ROOT)


Change = Callable[[dict[str, Any]], object]
"""A function that changes the value of `spec` in a merged tree, in place."""
Variant = Callable[[Change], Cluster]
"""The type of fixture `variant`, which resolves a changed copy of the reference spec."""
CHECKOUT = pytest.StashKey[set[str]]()

# As in `gpuc`: a search for garbage reads the objects of thousands of test items.
gc.set_threshold(100_000, 50, 50)

# No test depends on the date: the examples have capacity blocks, which end.
os.environ["SOURCE_DATE_EPOCH"] = "1796083200"  # 2026-12-01


@pytest.fixture(scope="session", autouse=True)
def no_stored_results() -> Iterator[None]:
    """Stored results are off: tests change gpuc in memory, which no digest of a file shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpuc.pipeline.result_cache.identity", lambda: "")
        yield


@cache
def example(name: str) -> Cluster:
    """The resolved cluster of one of the example specs."""
    root, file = root_of(name), f"specs/{name}.yaml"
    return resolve(parse(read(root, file)), file, fleet_catalog(root).catalog)


@cache
def compiled_example(name: str) -> CompiledSpec:
    """One of the example specs with its objects."""
    return compiled_spec(root_of(name), f"specs/{name}.yaml")


@pytest.fixture(scope="session")
def tree() -> dict[str, Any]:
    """The merged production spec."""
    return read(ROOT, REFERENCE).tree


@pytest.fixture(scope="session")
def reference(tree: dict[str, Any]) -> Cluster:
    return resolve(ClusterSpec.model_validate(tree), REFERENCE, load())


@pytest.fixture
def variant(tree: dict[str, Any]) -> Variant:
    def changed(change: Change) -> Cluster:
        other = copy.deepcopy(tree)
        change(other["spec"])
        return resolve(ClusterSpec.model_validate(other), REFERENCE, load())

    return changed


@pytest.fixture
def prod() -> Cluster:
    """The production cluster of the reference spec."""
    return example("prod-use1")


def remove_runtimes(spec: dict[str, Any]) -> None:
    """Removes the training runtimes, which need component trainer, from the value of `spec`."""
    for tenant in spec["tenants"].values():
        tenant.pop("trains", None)


def edit(file: Path, *changes: tuple[str, str]) -> None:
    """Replaces texts that a file has once."""
    text = file.read_text("utf-8")
    for old, new in changes:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def empty_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which commands run, with a compile cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "fleet"
    root.mkdir()
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def fleet(empty_fleet: Path) -> Path:
    """A fleet with the specs of this repository, and nothing else."""
    shutil.copytree(ROOT / "specs", empty_fleet / "specs")
    return empty_fleet


@pytest.fixture
def hub_fleet(empty_fleet: Path) -> Path:
    """A fleet with the specs of the example fleet with a hub, and nothing else."""
    shutil.copytree(HUB / "specs", empty_fleet / "specs")
    return empty_fleet


@pytest.fixture
def in_the_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in the root of this repository, and print no colours."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def without_lint(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compile does not lint customizations, which is four fifths of its time; tests/customize tests the lint."""
    monkeypatch.setattr("gpuc.pipeline.stages._linted", lambda *inputs: [])


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the reference data; skips the test if GPUC_SHARED is not set."""
    folder = os.environ.get("GPUC_SHARED")
    if not folder:
        pytest.skip("GPUC_SHARED is not set: no reference data to compare with")
    return Path(folder)


def checkout() -> set[str]:
    """The output of git status, and the names in the root folder, because git ignores empty folders."""
    names = {name for name in os.listdir(ROOT) if not name.startswith(".")}
    if (ROOT / ".git").exists():
        status = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=all"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        names.update(status.stdout.splitlines())
    return names


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option of the full lane, which `make conformance-all` uses."""
    parser.addoption("--full", action="store_true", help="make all random draws, not the share of CI")


def pytest_configure(config: pytest.Config) -> None:
    """Sets the lane. The fast lane and CI draw the same random examples in every run.

    No test depends on the speed of the machine.
    """
    Lane.is_fast = "not slow" in config.option.markexpr
    Lane.is_full = config.option.full
    settings.register_profile(
        "gpuc",
        max_examples=reduced(100),
        deadline=None,
        database=None if Lane.is_fast else settings.default.database,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=Lane.is_fast or "CI" in os.environ,
    )
    settings.load_profile("gpuc")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_slow_cases(items)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)  # so that no worker waits for a slow test
    gc.freeze()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Stores the state of the checkout, only in the main process of xdist."""
    if not hasattr(session.config, "workerinput"):
        session.config.stash[CHECKOUT] = checkout()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run if a test created or changed a file in the checkout."""
    if CHECKOUT not in session.config.stash:
        return
    changed = checkout() ^ session.config.stash[CHECKOUT]
    session.config.stash[CHECKOUT] = changed
    if changed and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Reports changed files in the checkout, the features of random specs, and tests skipped without reference data."""
    for line in sorted(terminalreporter.config.stash[CHECKOUT]):
        terminalreporter.write_line(f"FAILED: changed in the checkout while the tests ran: {line}", red=True)
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "distribution":
                shares = ", ".join(f"{feature} {share:.0%}" for feature, share in value.items())
                terminalreporter.write_line(f"random specs: {shares}")
    without = [report for report in terminalreporter.stats.get("skipped", []) if "GPUC_SHARED" in str(report.longrepr)]
    if without:
        terminalreporter.write_line(f"{len(without)} tests skipped: GPUC_SHARED is not set")
