"""From one node pool to a cluster with tenants and queues: what each section of the spec adds, and what it changes."""

import re
from collections.abc import Mapping
from copy import deepcopy
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cli.init import MINIMAL, fleet_files
from gpuc.cli.init_settings import Settings
from gpuc.cli.main import main
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.pipeline.fleet_policies import FleetPolicies
from gpuc.pipeline.stages import compile_source
from gpuc.source import read
from tests.conftest import ROOT

NAME = "dev-use1"
Tree = dict[str, Any]
STEPS: tuple[Tree, ...] = tuple(
    yaml.safe_load(block)
    for block in re.findall(
        r"^```yaml\n(.*?)^```$", (ROOT / "docs/start-small.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
)
"""The YAML of steps 2, 3 and 4 in docs/start-small.md."""
OBSERVABILITY, POLICIES, QUEUES = STEPS
TENANTS = {key: section for key, section in QUEUES.items() if key != "queues"}
SECTIONS = {
    "observability": [OBSERVABILITY],
    "policies": [POLICIES],
    "tenants": [TENANTS],
    "tenants and queues": [QUEUES],
    "all": list(STEPS),
}
CHANGED = {
    # The files of the one-pool cluster that a section changes, with the reason.
    f"clusters/{NAME}/README.md": "describes what the cluster has",
    f"out/{NAME}/apps/project.yaml": "allows the kinds and repositories of the section",
    f"out/{NAME}/workloads/l4.yaml": "moves to the first namespace that may use the pool; Argo CD does not sync it",
}
ADDED = {
    "observability": ["apps/monitoring.yaml", "monitoring/*"],
    "policies": ["apps/gatekeeper.yaml", "apps/policies-*.yaml", "gatekeeper/values.yaml", "policies/*"],
    "tenants": ["apps/tenants.yaml", "tenants/research.yaml"],
    "queues": ["apps/kueue*.yaml", "kueue/*"],
}
"""The files below out/<cluster>/ that a section adds, as patterns."""


def merged(base: Tree, other: Tree) -> Tree:
    result = dict(base)
    for key, value in other.items():
        known = result.get(key)
        result[key] = merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return result


def spec_text(*sections: Tree) -> str:
    """The minimal spec of `gpuc init` with more sections."""
    tree = yaml.safe_load(fleet_files(Settings(), MINIMAL)[f"specs/{NAME}.yaml"])
    for section in sections:
        tree["spec"] = merged(tree["spec"], deepcopy(section))
    return yaml.safe_dump(tree, sort_keys=False)


def compiled(folder: Path, *sections: Tree) -> tuple[list[str], dict[str, Any]]:
    """The ids of the findings, and the data of every file of the output."""
    (folder / "specs").mkdir(exist_ok=True)
    (folder / "specs" / f"{NAME}.yaml").write_text(spec_text(*sections))
    spec = compile_source(read(folder, f"specs/{NAME}.yaml"), FleetPolicies({}))
    files: dict[str, Any] = {}
    for artifact in spec.artifacts:
        files.setdefault(artifact.file, []).append(_data(artifact))
    return [finding.id for finding in spec.findings], files


def _data(artifact: Artifact) -> Any:
    if isinstance(artifact, Manifest):
        return artifact.document()
    return artifact.body if isinstance(artifact, Values) else artifact.text


@cache
def _is_added(file: str, sections: tuple[str, ...]) -> bool:
    patterns = [pattern for section in sections for pattern in ADDED[section]]
    is_runbook = file == f"clusters/{NAME}/RUNBOOK.md" and "observability" in sections
    return is_runbook or any(fnmatchcase(file, f"out/{NAME}/{pattern}") for pattern in patterns)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_adds_files_and_changes_no_pool_and_not_the_gpu_operator(name: str, tmp_path: Path) -> None:
    _, before = compiled(tmp_path)
    _, after = compiled(tmp_path, *SECTIONS[name])
    changed = {file for file in before if after.get(file) != before[file]}
    assert changed <= CHANGED.keys()
    assert f"out/{NAME}/apps/project.yaml" in changed and f"clusters/{NAME}/README.md" in changed
    sections = tuple(key for key in ADDED if any(key in section for section in SECTIONS[name]))
    assert [file for file in after if file not in before and not _is_added(file, sections)] == []
    patterns = [pattern for section in sections for pattern in ADDED[section]]
    assert [
        pattern for pattern in patterns if not any(fnmatchcase(file, f"out/{NAME}/{pattern}") for file in after)
    ] == []


def test_every_listed_change_happens(tmp_path: Path) -> None:
    _, before = compiled(tmp_path)
    _, after = compiled(tmp_path, *STEPS)
    assert {file for file in before if after.get(file) != before[file]} == CHANGED.keys()


@pytest.mark.parametrize("count", range(len(STEPS) + 1))
def test_each_step_of_the_page_compiles_without_findings(count: int, tmp_path: Path) -> None:
    findings, files = compiled(tmp_path, *STEPS[:count])
    assert findings == []
    (readme,) = files[f"clusters/{NAME}/README.md"]
    titles = {"## Alerts": 1, "constrainttemplates": 2, "## How GPUs are counted": 3, "get clusterqueues": 3}
    assert {title for title in titles if title in readme} == {title for title, step in titles.items() if step <= count}
    assert ("## Use a node pool" in readme) == (count < 3)
    assert "\n\n\n" not in readme


def test_tenants_without_policies_are_a_finding(tmp_path: Path) -> None:
    assert compiled(tmp_path, QUEUES)[0] == ["POL111"]
    assert compiled(tmp_path, QUEUES, {"policies": {"default": "deny"}})[0] == []


def kinds(files: Mapping[str, Any]) -> set[str]:
    documents = [document for file in files.values() for document in file if isinstance(document, dict)]
    return {document["kind"] for document in documents if "kind" in document}


def test_one_pool_needs_neither_kueue_nor_gatekeeper_nor_prometheus(tmp_path: Path) -> None:
    _, files = compiled(tmp_path)
    assert kinds(files) == {
        *("AppProject", "Application", "NodePool", "EC2NodeClass", "FlowSchema", "ClusterPolicy", "DaemonSet", "Job"),
        *("ServiceAccount", "ClusterRole", "ClusterRoleBinding"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    }
    (readme,) = files[f"clusters/{NAME}/README.md"]
    assert [word for word in ("Kueue", "kueue", "Gatekeeper", "ServiceMonitor") if word in readme] == []


def test_a_layer_may_have_settings_of_kueue_for_a_cluster_without_queues(tmp_path: Path) -> None:
    settings = {"kueue": {"frameworks": ["batch/job", "deployment"]}, "priorities": {"high": 10}}
    assert compiled(tmp_path, settings) == compiled(tmp_path)


def test_the_commands_work_on_a_cluster_with_one_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", ".", "--minimal", "--requirement", "gpuc==0.1.0"]) == 0
    assert not (tmp_path / "specs" / "base").exists()
    capsys.readouterr()
    assert main(["compile", "--strict"]) == 0
    assert main(["check", "--fresh", "--strict"]) == 0
    assert main(["lint", "out", "clusters"]) == 0
    assert main(["trace", "-f", f"out/{NAME}/workloads/l4.yaml", NAME]) == 0
    traced = capsys.readouterr().out
    assert "the cluster has no Kueue; the pods go directly to the scheduler" in traced
    assert "the pods get nodes" in traced and "No quota counts this workload." in traced
    assert main(["isolation"]) == 0
    assert "the cluster has no tenants" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [["--network-policy-engine", "cilium"], ["--argocd", "hub", "--server", "https://x"]]
)
def test_the_options_of_init_are_in_the_minimal_spec(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", ".", "--minimal", "--requirement", "gpuc==0.1.0", *options]) == 0
    assert main(["compile", "--strict"]) == 0
    assert options[-1] in (tmp_path / "specs" / f"{NAME}.yaml").read_text()


def test_an_inference_pool_without_tenants_has_a_deployment(tmp_path: Path) -> None:
    pool = {"purpose": "inference", "instances": ["g6.12xlarge"], "nodes": {"max": 2}, "sharing": "exclusive"}
    findings, files = compiled(tmp_path, {"pools": {"serve": pool}})
    assert findings == []
    (deployment,) = (doc for doc in files[f"out/{NAME}/workloads/serve.yaml"] if doc["kind"] == "Deployment")
    assert deployment["metadata"]["namespace"] == "default"
    pod = deployment["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"gpuc.dev/pool": "serve"} and pod["tolerations"]
