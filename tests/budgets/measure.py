"""Measures what the commands of gpuc load, call and read. The results do not depend on the speed of the machine."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gpuc
from tests.conftest import ROOT

SPECS = ("prod-use1", "infer-euw1", "train-usw2")
COUNTED = ("check", "compile")
"""The commands whose function calls are counted, for each of the specs."""
NEW_FLEET = ["init", "small", "--minimal", "--name", "small", "--region", "us-east-1", "--requirement", "gpuc==0.1.0"]
UNCHANGED = "compile, nothing changed"
IN_SMALL_FLEET = (
    ["fix", "small"],
    ["plan", "small", "--against", "../other"],
    ["diff", "before.yaml", "job.yaml"],
    ["specs"],
    ["lint", "job.yaml"],
    ["trace", "-f", "job.yaml"],
    ["isolation"],
    ["prerequisites", "small"],
    ["draw", "small"],
    ["crds", "import", "crds"],
    ["catalog", "gpus"],
    ["schema"],
    ["explain", "KUE007"],
    ["completion", "bash"],
    ["help"],
    ["version"],
    ["rehearse", "--load"],
    ["tools", "--load"],
)
"""A command line of each other command, in a fleet with one small cluster."""
_PACKAGE = str(Path(gpuc.__file__).parent)
_LIBRARIES = "site-packages"
_NOT_COUNTED = ("jinja2", "markupsafe", "_distutils_hack")
"""Code whose calls depend on a cache of compiled templates, or on the environment."""
_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: work, namespace: default}}
spec:
  parallelism: {count}
  template:
    spec:
      restartPolicy: Never
      tolerations: [{{operator: Exists}}]
      containers: [{{name: work, image: registry.example.com/work:1, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
"""
_CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


@dataclass
class Measured:
    """What commands load, call and read."""

    modules: dict[str, list[str]] = field(default_factory=dict)
    """The modules of gpuc and of libraries that a command loads, by command."""
    calls: dict[str, Counter[str]] = field(default_factory=dict)
    """The calls by command and spec, and by function of gpuc ("model/queue.py:pools") or library ("pydantic")."""
    files: dict[str, list[str]] = field(default_factory=dict)
    """The YAML files of the fleet that a check reads, by spec."""


def measure(folder: Path) -> Measured:
    """Runs all commands in fleets below an empty folder.

    Raises:
        AssertionError: when a command fails.
    """
    small, other = folder / "small", folder / "other"
    shutil.copytree(ROOT / "specs", folder / "specs")
    into = ["--into", str(folder / "into")]
    results = _probe([_run(folder, NEW_FLEET)], folder)
    shutil.copytree(small, other)
    spec = other / "specs/small.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("{max: ", "{max: 1"), encoding="utf-8")
    for name, count in (("before.yaml", 1), ("job.yaml", 2)):
        (small / name).write_text(_JOB.format(count=count), encoding="utf-8")
    (small / "crds").mkdir()
    (small / "crds/things.yaml").write_text(_CRD, encoding="utf-8")
    counted = [_run(folder, *([command, name, *into[: 2 * (command == "compile")]] for name in SPECS), counts=True)
               for command in COUNTED]  # fmt: skip
    results += _probe([*counted, _run(folder, ["compile", SPECS[-1], *into])], folder)
    results += _probe([_run(small, arguments) for arguments in IN_SMALL_FLEET], folder)
    lines = [NEW_FLEET, *([command, name] for command in COUNTED for name in SPECS), [UNCHANGED], *IN_SMALL_FLEET]
    measured = Measured()
    for (command, *words), result in zip(lines, results, strict=True):
        assert result["code"] == 0, (command, words, result["output"])
        measured.modules.setdefault(command, list(filter(_is_counted, result["modules"])))
        if command in COUNTED:
            measured.calls[f"{command} {words[0]}"] = _calls(result["calls"])
        if command == "check":
            measured.files[words[0]] = [file for file in result["files"] if file.endswith(".yaml") and ".." not in file]
    return measured


def is_own(module: str) -> bool:
    """Returns whether a module is one of gpuc or of its rehearsal."""
    return module.partition(".")[0] in ("gpuc", "gpuc_rehearsal")


def _run(folder: Path, *commands: list[str], counts: bool = False) -> dict[str, Any]:
    return {"folder": str(folder), "commands": commands, "counts": counts}


def _probe(runs: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Returns the results of the commands of all runs."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "XDG_CACHE_HOME": str(folder / "cache"),  # a stored result of the user would replace the work of a command
    }
    command = [sys.executable, "-m", "tests.budgets.probe"]
    process = subprocess.run(
        command, input=json.dumps(runs), env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True
    )
    return [result for results in json.loads(process.stdout) for result in results]


def _is_counted(module: str) -> bool:
    return module.partition(".")[0] not in (*sys.stdlib_module_names, "tests")


def _calls(calls: dict[str, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, count in calls.items():
        if any(part in name for part in _NOT_COUNTED):
            continue
        if name.startswith(_PACKAGE):
            found[name.removeprefix(f"{_PACKAGE}/")] += count
        elif _LIBRARIES in name:
            found[name.partition(f"{_LIBRARIES}/")[2].partition("/")[0]] += count
    return found
