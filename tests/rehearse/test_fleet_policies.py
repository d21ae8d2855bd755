"""A policy of the fleet that warns does not make the objects of gpuc wrong; the warnings of other policies count."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from gpuc.cli.main import main
from gpuc.model import Cluster
from gpuc.pipeline.stages import compiled_spec
from gpuc_rehearsal.client import Client
from gpuc_rehearsal.outcome import NO_OBJECTION, classify_response
from gpuc_rehearsal.suites.policies import fleet_warnings

# The two forms of a warning, as the API server of Kubernetes 1.35 and the webhook of Gatekeeper 3.23 answer.
NATIVE = (
    "Validation failed for ValidatingAdmissionPolicy 'gatekeeper-{kind}' with binding 'gatekeeper-{kind}-{name}': no"
)
WEBHOOK = "[{name}] no"


def lab(folder: Path, stage: str) -> Cluster:
    """The cluster of a new fleet, whose own policy has this stage."""
    assert main(["init", str(folder), "--requirement", "gpuc==0.1.0", "--name", "lab"]) == 0
    spec = folder / "specs/lab.yaml"
    text = spec.read_text("utf-8")
    assert text.count("stage: warn") == 1
    spec.write_text(text.replace("stage: warn", f"stage: {stage}"), encoding="utf-8")
    return compiled_spec(folder, "specs/lab.yaml").cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return lab(tmp_path, "warn")


def outcome(warnings: list[str], ignored: tuple[str, ...]) -> str:
    client = cast(Client, SimpleNamespace(warnings=warnings))
    return classify_response(client, lambda: None, ignored).message


@pytest.mark.parametrize("form", [NATIVE, WEBHOOK])
def test_a_warning_of_the_fleet_counts_only_for_the_policy_that_is_tested(form: str, cluster: Cluster) -> None:
    own = form.format(kind="gpucworkloadowner", name="workload-owner")
    other = form.format(kind="gpuccostlabel", name="cost-label-research")
    assert outcome([own], fleet_warnings(cluster)) == NO_OBJECTION
    assert outcome([own, other], fleet_warnings(cluster)) == other
    assert outcome([own], fleet_warnings(cluster, "workload-owner")) == own


@pytest.mark.parametrize("stage", ["deny", "dryrun"])
def test_only_the_stage_warn_has_warnings(stage: str, tmp_path: Path, prod: Cluster) -> None:
    assert fleet_warnings(lab(tmp_path, stage)) == fleet_warnings(prod) == ()
