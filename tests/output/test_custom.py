"""The example fleet with all ways out: its committed output, and its own policy."""

import shutil
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from gpuc.cli.main import main
from gpuc.pipeline.pipeline import check_specs
from gpuc.trace.node_agents import without_agent_requests
from tests.conftest import CUSTOM, compiled_example

OUT = CUSTOM / "out/custom-euc1"


def test_the_output_is_up_to_date_without_findings() -> None:
    outcome = check_specs(CUSTOM, None, CUSTOM, True, lambda step: None)
    assert (outcome.clusters, outcome.findings, outcome.failures) == (("custom-euc1",), (), ())


@pytest.mark.parametrize("command", ["lint", "isolation"])
def test_other_commands_accept_the_output(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--strict"] if command == "lint" else []
    assert main([command, *words, str(OUT)]) == 0, capsys.readouterr().out


def test_the_readme_of_the_cluster_counts_what_is_outside_of_the_model() -> None:
    text = (CUSTOM / "clusters/custom-euc1/README.md").read_text(encoding="utf-8")
    assert "copies into the output: 8 values, 2 patches, 1 chart, 6 manifests." in text
    assert "Run all commands in the folder `examples/custom` of this repository." in text


def test_applications_read_the_folder_of_the_fleet() -> None:
    paths = [
        source["path"]
        for file in (OUT / "apps").glob("*.yaml")
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if document["kind"] == "Application"
        for source in [document["spec"].get("source", {}), *document["spec"].get("sources", [])]
        if source.get("path")
    ]
    assert "examples/custom/out/custom-euc1/extra" in paths
    assert all((CUSTOM.parents[1] / path).is_dir() for path in paths)


def test_the_own_policy_has_its_stage_and_its_setting() -> None:
    text = (OUT / "policies/constraints/image-tags.yaml").read_text(encoding="utf-8")
    spec = yaml.safe_load(text)["spec"]
    assert (spec["enforcementAction"], spec["parameters"]) == ("deny", {"moving": ["latest", "main"]})
    assert (OUT / "policies/templates/image-tags.yaml").is_file()


def test_the_requests_of_a_node_agent_in_the_manifests_count_once() -> None:
    spec = compiled_example("custom-euc1")
    counted = without_agent_requests(spec.cluster, spec.synced)
    changed = [(old, new) for old, new in zip(spec.synced, counted, strict=True) if new is not old]
    assert [str(new) for _, new in changed] == ["DaemonSet logging/log-agent"]
    ((old, new),) = changed
    document = deepcopy(old.document())
    del document["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert new.document() == document


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("variables.moving.size()", "variables.movng.size()", "POL007 policies/image-tags/policy.yaml:24:17"),
        (":[^/]+$", ":.+$", "POL009 policies/image-tags/denied.yaml:10:1"),
    ],
)
def test_a_mistake_in_the_own_policy_is_a_finding_at_its_line(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    for folder in ("specs", "policies"):
        shutil.copytree(CUSTOM / folder, tmp_path / folder)
    file = tmp_path / "policies/image-tags/policy.yaml"
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")
    outcome = check_specs(tmp_path, None, tmp_path, False, lambda step: None)
    assert [f"{finding.id} {finding.mark}" for finding in outcome.findings] == [expected]
