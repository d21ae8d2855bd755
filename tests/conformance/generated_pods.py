"""Compares gator with the CEL engine of the unit tests on generated objects."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuc.components.gatekeeper.component import gatekeeper
from gpuc.manifest.manifest import Manifest
from gpuc.policy.library import policies
from tests.conformance.check_result import CheckResult
from tests.conformance.gator import write_suite
from tests.conftest import example
from tests.policies.generated import COUNT, objects, text
from tests.policies.kubernetes_cel import Review, denials

Object = dict[str, Any]
_FAILED, _PASSED = re.compile(r"--- FAIL: (\d+)\t"), re.compile(r"--- PASS: (\d+)\t")
_MAX_REPORTED = 5
"""Maximal number of reported disagreements for a policy."""


def checks(gator: Path, folder: Path, count: int = COUNT) -> Iterator[CheckResult]:
    """Compares for every policy how many validations deny every generated object."""
    emitted = [artifact for artifact in gatekeeper(example("prod-use1")) if isinstance(artifact, Manifest)]
    templates = {manifest.name: manifest for manifest in emitted if manifest.kind == "ConstraintTemplate"}
    suite, documents, expected = folder, list[Object](), list[int]()
    for policy in policies().values():
        suite = folder / f"generated-{policy.name}"
        write_suite(suite, policy, templates[policy.kind.lower()].document())
        documents = objects(policy, count)
        expected = [
            len(denials(policy.variables, policy.validations, policy.sample, Review.of(document)))
            for document in documents
        ]
        _write_cases(suite, documents, expected)
        name = f"gator and cel-expr-python evaluate policy {policy.name} alike"
        yield CheckResult(name, _disagreements(gator, suite, documents), f"{len(documents)} generated objects")
    _write_cases(suite, documents[:1], [expected[0] + 1])
    problem = "" if _disagreements(gator, suite, documents[:1]) else "the comparison accepted a wrong expectation"
    yield CheckResult("the comparison with gator detects a wrong expectation", problem)


def _write_cases(suite: Path, documents: list[Object], expected: list[int]) -> None:
    """Replaces the test cases of the suite: every object with its expected number of violations."""
    cases = []
    for number, (document, violations) in enumerate(zip(documents, expected, strict=True)):
        (suite / f"{number}.yaml").write_text(json.dumps(document), encoding="utf-8")
        cases.append({"name": str(number), "object": f"{number}.yaml", "assertions": [{"violations": violations}]})
    content = json.loads((suite / "suite.yaml").read_text(encoding="utf-8"))
    content["tests"][0]["cases"] = cases
    (suite / "suite.yaml").write_text(json.dumps(content), encoding="utf-8")


def _disagreements(gator: Path, suite: Path, documents: list[Object]) -> str:
    """The first objects for which gator reports other violations; empty if gator agrees on every object."""
    command = [str(gator), "verify", "--verbose", str(suite / "suite.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.strip() for line in done.stdout.splitlines()]
    failed = [(index, int(match[1])) for index, line in enumerate(lines) if (match := _FAILED.match(line))]
    if failed:
        return "; ".join(
            f"{' '.join(lines[index + 1 : index + 2])}: {text(documents[case])}"
            for index, case in failed[:_MAX_REPORTED]
        )
    passed = sum(_PASSED.match(line) is not None for line in lines)
    if done.returncode != 0 or passed != len(documents):
        return f"gator evaluated {passed} of {len(documents)} objects: {done.stdout[-500:]}{done.stderr[-500:]}"
    return ""
