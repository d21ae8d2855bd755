"""Tests the policies of a fleet on the objects in their files allowed.yaml and denied.yaml."""

from collections.abc import Iterator
from typing import Any

from gpuc.admission.policy_examples import PolicyExamples
from gpuc.admission.policy_expressions import Verdict
from gpuc.diagnostics.finding import Finding, Mark, Path, rule_table
from gpuc.policy.examples import ExampleText, example_texts
from gpuc.policy.library import VERDICTS, Policy
from gpuc.policy.own import NO_EXAMPLES, policy_path
from gpuc.source import source_of
from gpuc.source.document import compose

rule_of = rule_table(__file__)
WRONG = rule_of("POL009")
INVALID = rule_of("POL010")
NOT_EVALUATED = rule_of("POL108")
NOT_CHECKED = rule_of("POL109")
FAILS = rule_of("POL110")
EXAMPLES_MAX = 200
"""The number of examples in a file that gpuc evaluates, so that no file can use up the time of CI."""
_OPERATIONS = ("CREATE", "UPDATE")


def check_examples(policy: Policy) -> Iterator[Finding]:
    """Yields a finding for each example of a policy that the policy does not allow or deny as expected."""
    evaluator = PolicyExamples(policy)
    for verdict in VERDICTS:
        file = policy_path(policy.name, f"{verdict}.yaml")
        text = policy.example_text(verdict)
        rows = list(example_texts(text))
        if text and not rows:
            yield NO_EXAMPLES.at((), f"the policy has no {verdict} examples: {file} is empty", mark=Mark(file, 1, 1))
        if len(rows) > EXAMPLES_MAX:
            mark = Mark(file, rows[EXAMPLES_MAX].line + 1, 1)
            yield INVALID.at((), f"the file has {len(rows)} examples; expected at most {EXAMPLES_MAX}", mark=mark)
        for row in rows[:EXAMPLES_MAX]:
            yield from _example(evaluator, policy, verdict, file, row)


def _example(
    evaluator: PolicyExamples, policy: Policy, expected: str, file: str, row: ExampleText
) -> Iterator[Finding]:
    node, findings = compose("\n" * row.line + row.text, file)
    yield from findings
    if node is None or any(finding.is_error for finding in findings):
        return
    source = source_of(node, file)
    document = source.tree
    problem = _problem(document)
    if problem:
        path, message = problem
        yield INVALID.at((), message, mark=source.marks.get(path, node.mark))
        return
    title = f'"{row.title}"' if row.title else _name(document)
    yield from _compared(evaluator.verdict(document), policy, expected, title, node.mark, document)


def _compared(
    verdict: Verdict | None, policy: Policy, expected: str, title: str, mark: Mark, document: dict[str, Any]
) -> Iterator[Finding]:
    """Yields the finding if the verdict about an example is not the expected verdict."""
    subject = f"policy {policy.name}"
    if verdict is None:
        kinds = ", ".join(kind for entry in policy.kinds for kind in entry["kinds"])
        message = f"{subject} does not check {_name(document)}, only {kinds}"
        if expected == "allowed":
            yield NOT_CHECKED.at((), f"{message}: the allowed example {title} tests nothing", mark=mark)
        else:
            yield WRONG.at((), f"{message}, so it allows the denied example {title}", mark=mark)
    elif verdict.outcome == "unknown":
        yield NOT_EVALUATED.at((), f"{subject} is not evaluated on the example {title}: {verdict.message}", mark=mark)
    elif verdict.outcome != expected:
        reason = f": {verdict.message}" if verdict.message else ""
        verb = "allows" if verdict.outcome == "allowed" else "denies"
        yield WRONG.at((), f"{subject} {verb} the {expected} example {title}{reason}", mark=mark)
    elif verdict.is_failure:
        yield FAILS.at((), f"{subject} denies the example {title}, but by a failure: {verdict.message}", mark=mark)


def _problem(document: dict[str, Any]) -> tuple[Path, str] | None:
    """Returns the path and the message of a mistake in an example; None if gpuc can evaluate the example."""
    if document.get("kind") != "AdmissionReview":
        return _object_problem(document, ())
    request = document.get("request")
    if not isinstance(request, dict):
        return (), "the AdmissionReview has no request; expected a map with operation and object"
    operation = request.get("operation")
    if operation not in _OPERATIONS:
        return ("request", "operation"), f"request.operation is {operation}; expected {' or '.join(_OPERATIONS)}"
    for key in ("object", "oldObject") if operation == "UPDATE" else ("object",):
        part = request.get(key)
        if not isinstance(part, dict):
            return ("request", key), f"request.{key} is missing or no map; expected the object of the request"
        if problem := _object_problem(part, ("request", key)):
            return problem
    user = request.get("userInfo", {})
    if not isinstance(user, dict) or not isinstance(user.get("username", ""), str):
        return ("request", "userInfo"), "request.userInfo is invalid; expected a map with username and groups"
    return None


def _object_problem(document: dict[str, Any], path: Path) -> tuple[Path, str] | None:
    for key in ("apiVersion", "kind"):
        if not isinstance(document.get(key), str):
            return (*path, key), f"the example has no {key}; expected an object with apiVersion, kind and metadata"
    metadata = document.get("metadata", {})
    if not isinstance(metadata, dict):
        return (*path, "metadata"), "metadata is no map; expected a map with name and namespace"
    for key in ("name", "namespace"):
        if not isinstance(metadata.get(key, ""), str):
            return (*path, "metadata", key), f"metadata.{key} is no string"
    return None


def _name(document: dict[str, Any]) -> str:
    """Returns the kind and name of the object of an example."""
    body = document["request"]["object"] if document["kind"] == "AdmissionReview" else document
    name = body.get("metadata", {}).get("name")
    return f"{body['kind']} {name}" if name else str(body["kind"])
