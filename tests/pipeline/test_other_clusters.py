"""Findings about what two specs of a fleet have in common: where they are, and which commands report them."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpuc.diagnostics.finding import Finding
from gpuc.pipeline.pipeline import check_specs, compile_specs
from tests.conftest import edit

COPY = "specs/vega-test.yaml"
PROD = "specs/vega-prod.yaml"
pytestmark = pytest.mark.usefixtures("without_lint")
RULES = ["FLT001", "FLT002", "FLT003", "FLT004"]


@pytest.fixture
def fleet(hub_fleet: Path) -> Path:
    """A fleet with a copy of vega-prod in which only the name of the cluster is changed."""
    shutil.copy(hub_fleet / PROD, hub_fleet / COPY)
    edit(hub_fleet / COPY, ("  name: vega-prod", "  name: vega-test"))
    return hub_fleet


def found(root: Path, files: Sequence[str] | None = None) -> list[Finding]:
    return sorted(check_specs(root, files, root, False, lambda step: None).findings, key=lambda found: found.id)


def accept(root: Path, file: str, rules: Sequence[str]) -> None:
    reasons = "".join(f"    {rule}: on purpose\n" for rule in rules)
    edit(root / file, ("spec:\n", f"spec:\n  accept:\n{reasons}"))


@pytest.mark.slow
def test_the_findings_are_at_the_second_spec_and_name_the_first(fleet: Path) -> None:
    findings = found(fleet)
    assert [finding.id for finding in findings] == RULES
    assert {finding.cluster for finding in findings} == {"vega-test"}
    cluster, destination, reservation, queue = findings
    assert "in the spec of vega-prod;" in cluster.message
    assert [(str(place.mark).rpartition(":")[0], place.message) for place in cluster.related] == [
        (f"{PROD}:16", "in the spec of vega-prod")
    ]
    assert str(cluster.mark) == f"{COPY}:16:19"
    assert str(destination.mark) == f"{COPY}:12:34"
    ids = f"specs/base/teams.yaml:{line_of(fleet, 'specs/base/teams.yaml', 'ids: [cr-')}:17"
    assert str(reservation.mark) == ids, "the value is in a layer of both specs"
    assert str(queue.mark) == f"{COPY}:{line_of(fleet, COPY, 'interruptionQueue:')}:26"


def line_of(root: Path, file: str, text: str) -> int:
    """Returns the number of the first line with a text."""
    lines = (root / file).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize(("named", "other"), [(PROD, "vega-test"), (COPY, "vega-prod")])
def test_a_command_about_one_cluster_compares_it_with_all(fleet: Path, named: str, other: str) -> None:
    findings = found(fleet, [named])
    assert [finding.id for finding in findings] == RULES
    assert all(f"in the spec of {other};" in finding.message for finding in findings)
    assert found(fleet, ["specs/vega-staging.yaml"]) == []


@pytest.mark.slow
def test_no_command_reports_what_the_second_spec_accepts(fleet: Path) -> None:
    accept(fleet, COPY, RULES)
    for files in (None, [PROD], [COPY]):
        assert found(fleet, files) == []


@pytest.mark.slow
def test_the_first_spec_has_nothing_to_accept(fleet: Path) -> None:
    accept(fleet, PROD, RULES)
    assert [finding.id for finding in found(fleet)] == ["ACC001"] * 4 + RULES


def test_a_spec_that_cannot_be_read_is_not_compared(fleet: Path) -> None:
    edit(fleet / COPY, ("environment: prod", "environment: ["))
    assert found(fleet, [PROD]) == []


@pytest.mark.slow
def test_an_edit_of_another_spec_is_not_hidden_by_the_cache(fleet: Path) -> None:
    text = (fleet / COPY).read_text()
    (fleet / COPY).unlink()

    def compile_prod() -> list[str]:
        return [finding.id for finding in compile_specs(fleet, [PROD], fleet, lambda step: None).findings]

    assert compile_prod() == [] == compile_prod()
    (fleet / COPY).write_text(text)
    assert sorted(compile_prod()) == RULES


SHARED = [
    "IAM role arn:aws:iam::111122223333:role/vega-prod-nlp-trainer",
    "egress to 10.192.8.0/24",
    "IAM role arn:aws:iam::111122223333:role/vega-prod-api-server",
    "host api.vega.example",
    "egress to 10.192.16.0/24",
    "egress to 10.192.17.0/24",
    "egress to 10.40.7.20/32",
]


def shared(root: Path, files: Sequence[str] | None = None) -> list[str]:
    """What clusters of different environments have in common."""
    return [
        finding.message.partition(" is also in the spec of ")[0]
        for finding in found(root, files)
        if finding.id == "FLT005"
    ]


@pytest.mark.slow
def test_s7_roles_databases_and_hosts_of_production_are_found_in_staging(fleet: Path) -> None:
    edit(fleet / COPY, ("environment: prod", "environment: staging"))
    assert shared(fleet) == shared(fleet, [PROD]) == SHARED
    edit(fleet / COPY, ("role/vega-prod-nlp-trainer", "role/vega-test-nlp-trainer"))
    edit(fleet / COPY, ("[api.vega.example]", "[api.test.vega.example]"))
    assert shared(fleet) == [words for words in SHARED if "nlp-trainer" not in words and "host" not in words]
    accept(fleet, COPY, [*RULES, "FLT005"])
    assert found(fleet) == found(fleet, [PROD]) == []


@pytest.mark.slow
def test_s7_a_third_cluster_is_compared_with_those_of_other_environments(fleet: Path) -> None:
    text = (fleet / PROD).read_text()
    third = text.replace("name: vega-prod", "name: vega-dev", 1).replace("environment: prod", "environment: dev")
    (fleet / "specs/vega-zeta.yaml").write_text(text.replace("name: vega-prod", "name: vega-zeta", 1))
    assert shared(fleet) == [], "three clusters of one environment"
    (fleet / "specs/vega-dev.yaml").write_text(third)
    for file in (PROD, COPY, "specs/vega-zeta.yaml"):
        assert shared(fleet, [file]) == SHARED
