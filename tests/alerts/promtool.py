"""Runs promtool on the alerts of the example clusters."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from gpuc.model import Cluster
from gpuc_rehearsal.tools.selection import OTHERS
from tests.alerts import capacity_cases, gpu_cases, node_cases, queue_cases
from tests.alerts.case import Body, Case, alert_rules, group_of, promtool_file, promtool_test, rules, table_cases
from tests.conftest import example

OLDEST = (2, 42)
"""The oldest Prometheus with keep_firing_for. Debian 12 has this version."""
WITH_START = (3, 9)
"""The oldest Prometheus whose tests can start at a given time. Older versions do not run cases with a start."""
MISSING = "promtool 2.42 or later was not found: run `gpuc tools --promtool`, or install the package of Prometheus"
AUDITS = " ".join(f"{1795392000 + 300 * number}x4" for number in range(25))
"""The times at which audits end, one every 5 minutes."""
CASES: dict[str, Callable[[Cluster], Iterator[Case]]] = {
    "gpu": gpu_cases.cases,
    "nodes": node_cases.cases,
    "capacity": capacity_cases.cases,
    "queues": queue_cases.cases,
    "policies": lambda cluster: table_cases("policies", audits=AUDITS),
}

Change = Callable[[Body], Body]
"""A function that returns a changed rule."""


def unchanged(rule: Body) -> Body:
    return rule


def cases(cluster: str, group: str) -> list[Case]:
    """Returns the cases of a group of alerts."""
    return list(CASES[group](example(cluster)))


def find_promtool() -> Path | None:
    """Returns promtool from the folder of `gpuc tools --promtool` or PATH; None if there is none or it is too old."""
    built = OTHERS["promtool"].home() / "bin" / "promtool"
    installed = shutil.which("promtool")
    for program in (built, Path(installed) if installed else None):
        if program and os.access(program, os.X_OK) and version(program) >= OLDEST:
            return program
    return None


@cache
def version(program: Path) -> tuple[int, int]:
    """Returns the version of Prometheus. Version 3.16 has the number 0.316.0 as a Go module."""
    printed = subprocess.run((program, "--version"), capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+)\.(\d+)", printed.stdout + printed.stderr)
    if not found:
        return (0, 0)
    major, minor = int(found[1]), int(found[2])
    return (minor // 100, minor % 100) if major == 0 else (major, minor)


@dataclass(frozen=True)
class Outcome:
    """The result of a run of promtool."""

    problem: str
    """The output of promtool; empty if the run succeeded."""
    count: int
    """The number of rules or test cases."""
    left_out: int = 0
    """The number of test cases that this promtool is too old for."""


def check_rules(program: Path, folder: Path, cluster: str, change: Change = unchanged) -> Outcome:
    """Checks all rules of a cluster with all linters; also finds two rules that have the same name and labels."""
    files = [str(rule_file(folder, cluster, group, change)) for group in rules(cluster)]
    command = (str(program), "check", "rules", "--lint=all", "--lint-fatal", *files)
    return Outcome(run(command), sum(map(len, rules(cluster).values())))


def run_cases(
    program: Path, folder: Path, cluster: str, group: str = "", alert: str = "", change: Change = unchanged
) -> Outcome:
    """Runs the cases of a group of alerts, or of one alert."""
    group = group or group_of(cluster, alert)
    files = [rule_file(folder, cluster, name, change).name for name in dict.fromkeys(("records", group))]
    has_start = version(program) >= WITH_START
    chosen = [case for case in cases(cluster, group) if alert in ("", case.alert) and (has_start or not case.start)]
    file = folder / f"{cluster}-{group}.test.yaml"
    tests = (promtool_test(cluster, case) for case in chosen)
    file.write_text(yaml.safe_dump(promtool_file(files, tests), sort_keys=False, width=200))
    left_out = 0 if has_start else sum(bool(case.start) for case in cases(cluster, group))
    return Outcome(run((str(program), "test", "rules", str(file))), len(chosen), left_out)


def rule_file(folder: Path, cluster: str, group: str, change: Change = unchanged) -> Path:
    """Writes the rules of a PrometheusRule as a file of Prometheus; of the records only those that alerts read."""
    file = folder / f"{cluster}-{group}.yaml"
    read = "".join(rule["expr"] for rule in alert_rules(cluster))
    changed = [change(rule) for rule in rules(cluster)[group] if "alert" in rule or rule["record"] in read]
    file.write_text(yaml.safe_dump({"groups": [{"name": group, "rules": changed}]}))
    return file


def run(command: tuple[str, ...]) -> str:
    """Runs a command. Returns its output; empty if the command succeeded."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return (done.stdout + done.stderr).strip() if done.returncode else ""
