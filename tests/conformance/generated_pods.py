"""gator beside the engine of our own tests: the same verdict on every object that is generated for a policy."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuc.emit.gatekeeper import gatekeeper
from gpuc.manifest.manifest import Manifest
from gpuc.policy.library import policies
from tests.conformance.gator import write_suite
from tests.conformance.outcome import Check
from tests.conftest import example
from tests.policies.generated import COUNT, objects, text
from tests.policies.kubernetes_cel import Review, denials

Object = dict[str, Any]
_FAILED, _PASSED = re.compile(r"--- FAIL: (\d+)\t"), re.compile(r"--- PASS: (\d+)\t")
_TOLD = 5
"""So many disagreements of one policy are told."""


def checks(gator: Path, folder: Path, count: int = COUNT) -> Iterator[Check]:
    """Every policy over its objects, in one run of gator each: how many validations refuse each object."""
    emitted = [each for each in gatekeeper(example("prod-use1")) if isinstance(each, Manifest)]
    templates = {each.name: each for each in emitted if each.kind == "ConstraintTemplate"}
    suite, made, refusals = folder, list[Object](), list[int]()
    for policy in policies().values():
        suite = folder / f"generated-{policy.name}"
        write_suite(suite, policy, templates[policy.kind.lower()].document())
        made = objects(policy, count)
        refusals = [
            len(denials(policy.variables, policy.validations, policy.sample, Review.of(document))) for document in made
        ]
        _write_cases(suite, made, refusals)
        name = f"gator and cel-expr-python {policy.name}"
        yield Check(name, _disagreements(gator, suite, made), f"{len(made)} generated objects")
    _write_cases(suite, made[:1], [refusals[0] + 1])
    missed = "" if _disagreements(gator, suite, made[:1]) else "gator agreed with a verdict that is wrong"
    yield Check("gator and a wrong verdict", missed, "it has to disagree")


def _write_cases(suite: Path, made: list[Object], refusals: list[int]) -> None:
    """Replaces the suite's cases: one for each object, with the number of violations that our engine expects."""
    cases = []
    for number, (each, refused) in enumerate(zip(made, refusals, strict=True)):
        (suite / f"{number}.yaml").write_text(json.dumps(each), encoding="utf-8")
        cases.append({"name": str(number), "object": f"{number}.yaml", "assertions": [{"violations": refused}]})
    document = json.loads((suite / "suite.yaml").read_text(encoding="utf-8"))
    document["tests"][0]["cases"] = cases
    (suite / "suite.yaml").write_text(json.dumps(document), encoding="utf-8")


def _disagreements(gator: Path, suite: Path, made: list[Object]) -> str:
    """What gator says against our verdicts, a few of them; empty where it agrees on every object."""
    command = [gator, "verify", "--verbose", suite / "suite.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.strip() for line in done.stdout.splitlines()]
    failed = [(index, int(match[1])) for index, line in enumerate(lines) if (match := _FAILED.match(line))]
    if failed:
        return "; ".join(
            f"{' '.join(lines[index + 1 : index + 2])}: {text(made[case])}" for index, case in failed[:_TOLD]
        )
    passed = sum(_PASSED.match(line) is not None for line in lines)
    if done.returncode != 0 or passed != len(made):
        return f"{passed} of {len(made)} were judged: {done.stdout[-500:]}{done.stderr[-500:]}"
    return ""
