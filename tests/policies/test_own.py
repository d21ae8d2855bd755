"""Policies of a fleet: each mistake in their files is a finding at its line and column."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from gpuc.diagnostics.finding import Finding, StageError
from gpuc.pipeline.fleet_policies import fleet_policies
from gpuc.policy.facts import FACTS
from gpuc.policy.library import VERDICTS, Policy, policies, subjects
from gpuc.policy.policy_file import PolicyFile
from tests.conftest import ROOT
from tests.derive.policies import SOURCES
from tests.tables import table

TEMPLATE = ROOT / "compiler/gpuc/cli/template/tenants/policies"
POLICY = """\
title: Workloads have a team
why: Costs are shared by team.
subject: pod
settings:
  teams: {type: array, items: {type: string}}
parameters:
  teams:
    from: settings.teams
    schema: {type: array, items: {type: string}}
variables:
  labels: 'has(object.metadata.labels) ? object.metadata.labels : {}'
  team: >-
    "team" in variables.labels ?
      variables.labels["team"] : ""
validations:
  - expression: variables.team in variables.params.teams
    messageExpression: '"use a team of " + variables.params.teams.join(", ")'
sample:
  teams: [search]
"""
ALLOWED = """\
# A team.
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: x, labels: {team: search}}
"""
DENIED = ALLOWED.replace("search", "sales").replace("A team", "Another team")


def write(root: Path, policy: str = POLICY, allowed: str = ALLOWED, denied: str = DENIED, name: str = "team") -> None:
    folder = root / "policies" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in (("policy", policy), ("allowed", allowed), ("denied", denied)):
        (folder / f"{file}.yaml").write_text(text, encoding="utf-8")


def findings(root: Path) -> tuple[Finding, ...]:
    try:
        return fleet_policies(root).findings
    except StageError as stop:
        return stop.findings


def own(root: Path) -> dict[str, Policy]:
    return fleet_policies(root).policies


def test_a_policy_without_mistakes_has_no_findings(tmp_path: Path) -> None:
    write(tmp_path)
    assert findings(tmp_path) == ()
    assert list(own(tmp_path)) == ["team"]


def test_a_fleet_without_policies_has_none(tmp_path: Path) -> None:
    assert own(tmp_path) == {}


@pytest.mark.parametrize("row", table(__file__, "own_mistakes.yaml"), ids=lambda row: row["finds"][3])
def test_a_mistake_in_policy_yaml_is_a_finding_at_its_position(tmp_path: Path, row: dict[str, Any]) -> None:
    (old, new), (id_, line, column, message, *fix) = row["change"], row["finds"]
    assert old in POLICY
    write(tmp_path, POLICY.replace(old, new, 1))
    found = findings(tmp_path)
    rows = [(finding.id, str(finding.mark), finding.fix) for finding in found if message in finding.message]
    assert rows == [(id_, f"policies/team/policy.yaml:{line}:{column}", "".join(fix))], found


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    write(tmp_path, POLICY.replace("why:", "wy:").replace("subject: pod", "kinds: Job"))
    write(tmp_path, POLICY.replace("variables.team in", "variables.tem in"), name="other")
    write(tmp_path, denied=ALLOWED, name="third")
    assert sorted((row.id, row.mark.file) for row in findings(tmp_path) if row.mark and row.is_error) == [
        ("POL007", "policies/other/policy.yaml"),
        ("POL009", "policies/third/denied.yaml"),
        ("SPC001", "policies/team/policy.yaml"),
        ("SPC003", "policies/team/policy.yaml"),
    ]


def test_a_position_that_is_not_certain_is_in_the_message(tmp_path: Path) -> None:
    write(
        tmp_path,
        POLICY.replace("variables.team in", r'"\"\" == \"\" && objekt.x in').replace(
            "params.teams\n", 'params.teams"\n'
        ),
    )
    (finding,) = (row for row in findings(tmp_path) if row.id == "POL007")
    assert str(finding.mark) == "policies/team/policy.yaml:16:17"
    assert finding.message.endswith("(line 1, column 13 of the expression)")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("isIP(object.spec.x)", []),
        ("object.spec.list.all(index, value, value == index)", []),
        ("object.spec.x > 1.5 && 1 < 2.5", []),
        ("has(request.dryRun) && request.dryRun", []),
        ("request.dryRun", []),
        ("has(\\n request.namespace) && has(variables.params)", []),
        ("has(variables.parms)", ["variable parms is not declared above"]),
        ("variables.created", []),
        ("variables.anyObject.kind == 'Pod'", []),
        ("url(object.x).getHost() == variabels.x", ["there is no variable variabels"]),
    ],
)
def test_what_kubernetes_allows_is_no_mistake(tmp_path: Path, expression: str, expected: list[str]) -> None:
    write(tmp_path, POLICY.replace("variables.team in variables.params.teams", f'"{expression}"'))
    found = [row.message.partition(";")[0] for row in findings(tmp_path) if row.id == "POL007"]
    assert found == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("default", "the name default, the key of the default stage"),
        ("Team", "Team cannot be the name of a policy"),
        ("a" * 41, "cannot be the name of a policy"),
        ("costlabel", "policy costlabel and policy cost-label have the same ConstraintTemplate"),
    ],
)
def test_a_name_that_is_not_allowed_is_a_finding(tmp_path: Path, name: str, message: str) -> None:
    write(tmp_path, name=name)
    (finding,) = findings(tmp_path)
    assert finding.id == "POL008" and message in finding.message
    assert str(finding.mark) == f"policies/{name}/policy.yaml:1:1"


def test_a_folder_without_policy_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "policies/team").mkdir(parents=True)
    (tmp_path / "policies/team/policy.yml").write_text(POLICY)
    (finding,) = findings(tmp_path)
    assert (finding.id, finding.message) == ("POL102", "policies/team has no policy.yaml")


@pytest.mark.parametrize("file", ["policy.yaml", "denied.yaml"])
def test_a_file_outside_of_policies_is_not_read(tmp_path: Path, file: str) -> None:
    write(tmp_path)
    secret = tmp_path / "secret.yaml"
    secret.write_text("secret: value\n")
    (tmp_path / "policies/team" / file).unlink()
    (tmp_path / "policies/team" / file).symlink_to(secret)
    (finding,) = findings(tmp_path)
    assert (finding.id, finding.message) == ("POL102", f"policies/team/{file} is outside of policies/")


def test_a_library_policy_is_replaced_unless_the_copy_is_the_same(tmp_path: Path) -> None:
    """B3: a changed copy of a library policy replaces the library policy."""
    shutil.copytree(SOURCES / "images", tmp_path / "policies/images")
    assert own(tmp_path) == {}
    file = tmp_path / "policies/images/policy.yaml"
    file.write_text(file.read_text().replace("variables.otherImages.size() == 0", "variables.otherImages == []"))
    assert own(tmp_path)["images"].variables == policies()["images"].variables
    assert own(tmp_path)["images"].validations[0]["expression"] == "variables.otherImages == []"


def test_a_policy_carries_the_variables_that_it_uses_and_no_others(tmp_path: Path) -> None:
    write(tmp_path, POLICY.replace("variables.team in", "variables.created && variables.team in"))
    assert list(own(tmp_path)["team"].variables) == ["created", "labels", "team"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", [TEMPLATE / "workload-owner", SOURCES / "images"], ids=lambda folder: folder.name)
def test_a_mutated_policy_never_causes_a_traceback(tmp_path: Path, folder: Path) -> None:
    chance = random.Random(folder.name)
    name = "own"
    texts = {file: (folder / f"{file}.yaml").read_text() for file in ("policy", *VERDICTS)}
    for _ in range(60):
        changed = dict(texts)
        file = chance.choice(list(texts))
        for _ in range(chance.choice((1, 1, 2))):
            changed[file] = mutated(changed[file], chance)
        write(tmp_path, changed["policy"], changed["allowed"], changed["denied"], name)
        for finding in findings(tmp_path):
            assert finding.mark is not None and finding.message
            lines = changed[Path(finding.mark.file).stem].splitlines()
            assert 1 <= finding.mark.line <= len(lines) + 1


VALUES = (
    "", "null", "1", "true", "[]", "{}", "[1]", "{a: 1}", "text", '"', "'", "a: b", "- x", "*x", "&x", "!!str 1", "(",
)  # fmt: skip


def mutated(text: str, chance: random.Random) -> str:
    """Returns the text with a line removed, repeated, cut or indented, or with another value."""
    lines = text.splitlines(keepends=True)
    number = chance.randrange(len(lines))
    line = lines[number]
    key, colon, _ = line.partition(":")
    other = key + colon + " " + chance.choice(VALUES) + "\n"
    cut = chance.randrange(len(line))
    lines[number] = chance.choice(
        ("", line * 2, line[:cut] + line[cut + 1 :], other, other, other, f"  {line}", line.lstrip(), line[:cut] + "\n")
    )
    return "".join(lines)


def test_the_policy_of_a_new_fleet_has_no_findings(tmp_path: Path) -> None:
    shutil.copytree(TEMPLATE, tmp_path / "policies")
    assert findings(tmp_path) == ()
    assert list(own(tmp_path)) == ["workload-owner"]


def test_the_page_of_a_new_fleet_describes_the_format() -> None:
    page = (ROOT / "compiler/gpuc/cli/template/common/policies/README.md").read_text(encoding="utf-8")
    facts = [f"| `{name}` | {value} |" for name, value in FACTS.items()]
    keys = [f"`{name}`" for name in PolicyFile.model_fields]
    variables = [f"`{name}`" for name in subjects()["pod"]["variables"]]
    assert [text for text in (*facts, *keys, *variables) if text not in page] == []
