"""gpuc evaluates the policies of a fleet on their examples, as Gatekeeper does."""

from pathlib import Path

import pytest

from gpuc.admission.policy_examples import PolicyExamples
from gpuc.documents.reader import load_yaml
from gpuc.policy.examples import example_texts
from gpuc.policy.library import VERDICTS, Policy, policies

from .test_own import ALLOWED, DENIED, POLICY, findings, write

JOB = """\
# A Job.
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: x}
spec: {template: {metadata: {labels: {team: search}}}}
"""
UPDATE = """\
# An update.
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  operation: UPDATE
  userInfo: {username: ada}
  object: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {team: sales}}}
  oldObject: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {team: sales}}}
"""


@pytest.mark.parametrize("policy", policies().values(), ids=policies())
def test_the_library_decides_its_examples_as_declared(policy: Policy) -> None:
    evaluator = PolicyExamples(policy)
    for expected in VERDICTS:
        for example in example_texts(policy.example_text(expected)):
            verdict = evaluator.verdict(load_yaml(example.text))
            assert verdict is not None and verdict.outcome == expected, example.title


def test_a_wrong_verdict_is_a_finding_at_the_example(tmp_path: Path) -> None:
    write(tmp_path, allowed=f"{ALLOWED}---\n{DENIED}", denied=f"# Nothing here.\n---\n{DENIED}---\n\n{ALLOWED}")
    first, second = findings(tmp_path)
    assert (first.id, str(first.mark)) == ("POL009", "policies/team/allowed.yaml:7:1")
    assert first.message == 'policy team denies the allowed example "Another team": use a team of search'
    assert (second.id, str(second.mark)) == ("POL009", "policies/team/denied.yaml:10:1")
    assert second.message == 'policy team allows the denied example "A team"'


def test_gatekeeper_expands_the_pods_of_a_job(tmp_path: Path) -> None:
    write(tmp_path, allowed=JOB, denied=JOB.replace("search", "sales"))
    assert findings(tmp_path) == ()


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("oldObject != null", True),
        ("oldObject.metadata.labels.team == object.metadata.labels.team", True),
        ("request.operation == 'UPDATE' && request.userInfo.username == 'ada'", True),
        ("request.userInfo.username == 'bob'", False),
    ],
)
def test_an_update_has_an_old_object_and_a_user(tmp_path: Path, expression: str, allowed: bool) -> None:
    validation = f"variables.team in variables.params.teams || oldObject != null && {expression}"
    write(
        tmp_path,
        POLICY.replace("variables.team in variables.params.teams", f'"{validation}"'),
        allowed=f"{ALLOWED}---\n{UPDATE}",
    )
    assert [row.id for row in findings(tmp_path)] == ([] if allowed else ["POL009"])


@pytest.mark.parametrize(
    ("text", "id_", "line", "column", "message"),
    [
        ("kind: Pod\n", "POL010", 1, 1, "the example has no apiVersion"),
        ("apiVersion: v1\nkind: Pod\nmetadata: []\n", "POL010", 3, 11, "metadata is no map"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: 1}\n", "POL010", 3, 18, "metadata.name is no string"),
        ("kind: AdmissionReview\n", "POL010", 1, 1, "has no request"),
        ("kind: AdmissionReview\nrequest: {operation: DELETE}\n", "POL010", 2, 22, "expected CREATE or UPDATE"),
        (UPDATE.partition("  oldObject")[0], "POL010", 2, 1, "request.oldObject is missing"),
        (f"{DENIED}---\na: [\n", "YAML001", 6, 4, "the bracket [ is not closed"),
        (f"{DENIED}---\na: 1\na: 2\n", "YAML003", 7, 1, "already has the key a"),
        ("# Empty.\n", "POL107", 1, 1, "denied.yaml is empty"),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", "POL009", 1, 1,
         "policy team does not check Service a, only Pod, so it allows the denied example"),
        (DENIED.replace("{team: sales}", "3"), "POL110", 2, 1, "No matching overloads"),
    ],
)  # fmt: skip
def test_a_mistake_in_an_example_is_a_finding_at_its_position(
    tmp_path: Path, text: str, id_: str, line: int, column: int, message: str
) -> None:
    write(tmp_path, denied=text)
    (finding,) = findings(tmp_path)
    assert (finding.id, str(finding.mark)) == (id_, f"policies/team/denied.yaml:{line}:{column}"), finding
    assert message in finding.message


def test_an_allowed_example_of_another_kind_tests_nothing(tmp_path: Path) -> None:
    write(tmp_path, allowed=ALLOWED.replace("Pod", "Service"))
    (finding,) = findings(tmp_path)
    assert finding.id == "POL109" and not finding.is_error


def test_a_function_that_gpuc_lacks_is_reported_as_not_evaluated(tmp_path: Path) -> None:
    write(tmp_path, POLICY.replace("variables.team in", "isIP(object.metadata.name) || variables.team in"))
    found = findings(tmp_path)
    assert {row.id for row in found} == {"POL108"} and len(found) == 2
    assert "function isIP" in found[0].message


def test_a_policy_without_examples_is_a_warning(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "policies/team/denied.yaml").unlink()
    (finding,) = findings(tmp_path)
    assert finding.id == "POL107" and not finding.is_error
    assert finding.message == "the policy is without examples: policies/team/denied.yaml not found"
