"""Findings about the output: they are bugs of gpuc, unless text of the user causes them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.cli.main import main
from gpuc.emit.emitters import artifacts_by_emitter
from gpuc.manifest.manifest import Artifact, Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import compiled_spec
from gpuc_rehearsal.substitute import not_tested
from gpuc_rehearsal.suites.policies import cases
from tests.conftest import edit

PROD = "specs/prod-use1.yaml"
FAILED = "gpuc failed, please report this"


@pytest.fixture
def broken(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet for which an emitter misspells a field."""

    def misspelt(cluster: Cluster) -> Iterator[list[Artifact]]:
        return ([wrong(artifact) for artifact in part] for part in artifacts_by_emitter(cluster))

    def wrong(artifact: Artifact) -> Artifact:
        if not isinstance(artifact, Manifest) or artifact.kind != "NodePool":
            return artifact
        return replace(artifact, body={"spec": {**artifact.body["spec"], "wieght": 1}})

    monkeypatch.setattr("gpuc.pipeline.stages.artifacts_by_emitter", misspelt)
    return fleet


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("command", ["compile", "check"])
def test_a_wrong_object_is_a_bug_of_gpuc(broken: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    before = files(broken)
    assert main([command, "prod-use1"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(FAILED)
    assert "SCH001  out/prod-use1/karpenter/pools/train-h100.yaml: NodePool train-h100: spec.wieght: unknown" in err
    assert "(from specs/prod-use1.yaml:" in err
    assert files(broken) == before


def test_a_bug_is_in_every_report(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--format", "json", "--output", "sarif=a.sarif", "--output", "github=a.txt", "--output", "text=b.txt"]
    assert main(["check", "prod-use1", *words]) == 3
    out, err = capsys.readouterr()
    assert err.startswith(f"gpuc: {FAILED}")
    report = json.loads(out)
    assert report["findings"] == []
    assert {failure["id"] for failure in report["failures"]} >= {"SCH001"}
    assert {failure["file"] for failure in report["failures"]} == {"specs/prod-use1.yaml"}
    (run,) = json.loads((broken / "a.sarif").read_text())["runs"]
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == len(report["failures"])
    lines = (broken / "a.txt").read_text().splitlines()
    assert len(lines) == len(report["failures"])
    assert all(
        line.startswith("::error file=specs/prod-use1.yaml") and FAILED.replace(",", "%2C") in line for line in lines
    )
    assert FAILED in (broken / "b.txt").read_text()


@pytest.mark.parametrize("words", [["trace", "prod-use1", "--queue", "research"], ["isolation", "prod-use1"]])
def test_commands_that_compile_fail_too(broken: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(words) == 3
    assert f"gpuc: {FAILED}: SCH001 " in capsys.readouterr().err


POLICY = """title: Pods say who pays.
why: Bills.
kinds: [{apiGroups: [""], kinds: [Pod]}]
validations: [{expression: object.metadata.name != variables.params.payer, message: "no"}]
parameters: {payer: {from: tenant.cost_centre, schema: {type: string}}}
sample: {payer: CC-1}
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: research}
"""


def own_policy(fleet: Path, policy: str, stage: str = "") -> None:
    """Writes the policy payer with its examples, and its stage in the spec."""
    folder = fleet / "policies/payer"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.yaml").write_text(policy)
    (folder / "allowed.yaml").write_text(POD.replace("NAME", "a"))
    (folder / "denied.yaml").write_text(POD.replace("NAME", "CC-1"))
    if stage:
        edit(fleet / PROD, ("    default: warn\n", f"    default: warn\n    {stage}\n"))


def checked(capsys: pytest.CaptureFixture[str], code: int = 1, *words: str) -> Any:
    """The JSON report of `gpuc check`."""
    assert main(["check", "--format", "json", *words]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("schema", "position"),
    [
        ("{type: string}", None),
        ("{type: text}", "policies/payer/policy.yaml:5:63"),
        # The cost centres do not match the schema. This is a finding about the constraints.
        ("{type: string, maxLength: 4}", "policies/payer/policy.yaml:5:56"),
    ],
)
def test_a_fault_of_an_own_policy_is_the_users(
    fleet: Path, capsys: pytest.CaptureFixture[str], schema: str, position: str | None
) -> None:
    own_policy(fleet, POLICY.replace("{type: string}", schema))
    found = checked(capsys, 1 if position else 0, "prod-use1")
    assert found["failures"] == []
    positions = {"{file}:{line}:{column}".format(**finding) for finding in found["findings"]}
    assert positions == ({position} if position else set())


@pytest.mark.slow
def test_an_own_policy_has_a_stage_by_name(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B2 and D7."""
    own_policy(fleet, POLICY, "payer: deny")
    assert main(["compile", "--strict", "prod-use1"]) == 0, capsys.readouterr()
    constraints = (fleet / "out/prod-use1/policies/constraints/payer.yaml").read_text()
    assert "enforcementAction: deny" in constraints and "payer-research" in constraints
    words = ["--queue", "research", "--pool", "train-h100", "--gpus", "1"]
    assert main(["trace", "prod-use1", *words]) == 0
    own_policy(fleet, POLICY.replace("object.metadata.name !=", "object.metadata.name ==") + "# other\n")
    (fleet / "policies/payer/allowed.yaml").unlink()
    (fleet / "policies/payer/denied.yaml").unlink()
    assert main(["trace", "prod-use1", *words]) == 1
    assert "constraint payer-research" in capsys.readouterr().out


def test_an_unknown_name_gets_the_nearest_own_policy(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own_policy(fleet, POLICY, "payr: deny")
    (finding,) = checked(capsys, 1, "prod-use1")["findings"]
    assert (finding["id"], finding["fix"]) == ("POL001", "rename policy payr to payer")


@pytest.mark.parametrize(
    ("stage", "rules"),
    [
        ("payer: {stage: deny, region: us}", []),
        ("payer: {stage: deny, region: 1}", ["POL003"]),
        ("payer: {stage: deny, regoin: us}", ["POL002", "POL002"]),
        ("payer: deny", ["POL002"]),
    ],
)
def test_settings_of_an_own_policy_are_checked(
    fleet: Path, capsys: pytest.CaptureFixture[str], stage: str, rules: list[str]
) -> None:
    policy = POLICY.replace("tenant.cost_centre", "settings.region") + "settings: {region: {type: string}}\n"
    own_policy(fleet, policy, stage)
    report = checked(capsys, 1 if rules else 0, "prod-use1")
    assert [finding["id"] for finding in report["findings"]] == rules


def test_findings_of_policies_are_reported_once_and_with_those_of_specs(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own_policy(fleet, POLICY.replace("!= variables", "!== variables"))
    edit(fleet / PROD, ("environment: prod", "environment: prd"))
    found = [(finding["id"], finding["file"]) for finding in checked(capsys)["findings"]]
    assert found == [("POL007", "policies/payer/policy.yaml"), ("SPC004", "specs/prod-use1.yaml")]
    assert not (fleet / "out").exists()


@pytest.mark.slow
def test_the_rehearsal_creates_the_examples_of_own_policies(fleet: Path) -> None:
    own_policy(fleet, POLICY, "payer: deny")
    spec = compiled_spec(fleet, PROD)
    titles = [case.name for case in cases(spec) if case.name.startswith("payer ")]
    assert titles == ["payer allowed example: Pod a", "payer denied example: Pod CC-1"]
    assert not any("payer" in sentence for sentence in not_tested(spec.cluster))


def test_what_follows_from_an_accepted_error_is_no_bug(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accept = '  accept: {VER102: "soon", VER105: "soon"}\n  kubernetes: "1.32"\n'
    edit(fleet / PROD, ('  kubernetes: "1.35"\n', accept))
    assert main(["check", "prod-use1"]) == 1
    out, err = capsys.readouterr()
    assert "SCH004" in out
    assert err == ""


QUEUE = "    research:\n      tenants: [research]\n"


def test_an_accepted_overcommit_compiles(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(fleet / PROD, ("train-h100: {nodes: 10,", "train-h100: {nodes: 30,"))
    assert main(["check", "prod-use1"]) == 1
    assert "KRP004" in capsys.readouterr().out
    accepted = QUEUE.replace("tenants", 'accept: {KRP004: "more nodes come in winter"}\n      tenants')
    edit(fleet / PROD, (QUEUE, accepted))
    assert main(["check", "--strict", "prod-use1"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", ["QTA004", "MON003"])
def test_an_acceptance_without_effect_is_reported_once(
    fleet: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    accepted = QUEUE.replace("tenants", f'accept: {{{name}: "none"}}\n      tenants')
    edit(fleet / PROD, (QUEUE, accepted))
    assert [finding["id"] for finding in checked(capsys, 0, "prod-use1")["findings"]] == ["ACC001"]


def test_a_fleet_of_jobsets_alone_compiles(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If Kueue does not manage Jobs, gpuc writes templates only for pools that ResourceQuotas count."""
    only = "  kueue: {frameworks: [jobset.x-k8s.io/jobset], "
    rows = ("    trainer: {} ", "      trains:  ", "        pretrain:", "        finetune:")
    removed = [(row, f"#{row}") for row in rows]
    edit(fleet / PROD, ("  kueue: {", only), ("    kuberay: {}\n", ""), *removed)
    assert main(["compile", "--strict", "prod-use1"]) == 0, capsys.readouterr()
    names = sorted(file.name for file in (fleet / "out/prod-use1/workloads").iterdir())
    assert names == ["embed-l40s.yaml", "serve-a100.yaml"]
    assert "Job for EFA" not in (fleet / "clusters/prod-use1/README.md").read_text()
