"""Components that another team installs, and components in other namespaces."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cli.main import main
from gpuc.emit.component import components, needed_components
from gpuc.manifest.manifest import Artifact, Manifest, Text
from tests.conftest import EXAMPLES, example, remove_runtimes
from tests.pipeline.memory import compile_tree, source
from tests.values import changed

NAMES = [component.name for component in components()]
CASES = [
    (name, component.name) for name in EXAMPLES for component in needed_components(example(name))
]  # a case for each component of each example
PAIR = {"karpenter", "karpenter-crd"}

each_component = pytest.mark.parametrize(("name", "component"), CASES)


def compiled(name: str, **settings: dict[str, Any]) -> tuple[list[str], dict[str, Artifact | tuple[Artifact, ...]]]:
    """The ids of the findings, and the artifacts of every file. The components of the spec stay, without settings."""
    named: dict[str, dict[str, Any]] = {own: {} for own in source(name).tree["spec"].get("components", {})}
    named |= {component.replace("_", "-"): values for component, values in settings.items()}
    findings, artifacts = compile_tree(name, changed(source(name).tree, ("spec", "components"), named))
    files: dict[str, Any] = {}
    for artifact in artifacts:
        files[artifact.file] = (*files.get(artifact.file, ()), artifact)
    return [finding.id for finding in findings], files


def only(files: dict[str, Any], file: str) -> Any:
    (artifact,) = files[file]
    return artifact


@pytest.mark.share(6)
@each_component
def test_a_component_of_another_team_has_its_objects_but_no_chart(name: str, component: str) -> None:
    _, before = compiled(name)
    findings, after = compiled(name, **{component: {"managed": False}})
    assert findings == (["CMP101"] if component in PAIR else [])
    values, moved = f"out/{name}/{component}/values.yaml", f"clusters/{name}/values/{component}.yaml"
    removed = {f"out/{name}/apps/{component}.yaml", *({values} & before.keys())}
    assert before.keys() - after.keys() == removed
    assert after.keys() - before.keys() == ({moved} if values in before else set())
    if values in before:
        assert only(after, moved).body == only(before, values).body
    different = {file for file in before.keys() & after.keys() if before[file] != after[file]}
    assert different <= {f"out/{name}/apps/project.yaml", f"clusters/{name}/README.md"}
    project, allowed = (only(files, f"out/{name}/apps/project.yaml").body["spec"] for files in (before, after))
    for key in project:
        if project[key] != allowed[key]:
            assert key in ("sourceRepos", "clusterResourceWhitelist", "namespaceResourceWhitelist")
            assert [entry for entry in allowed[key] if entry not in project[key]] == []


@pytest.mark.share(6)
@each_component
def test_the_readme_lists_the_version_the_namespace_and_the_values_of_another_team(name: str, component: str) -> None:
    _, files = compiled(name, **{component: {"managed": False, "namespace": "other-team"}})
    readme = only(files, f"clusters/{name}/README.md").text
    section = readme.partition("Components of other teams\n")[2].partition("\n###")[0]
    release = example(name).components[component]
    assert f"| {component} | {release.chart} | {release.version} | other-team |" in section
    values = files.get(f"clusters/{name}/values/{component}.yaml")
    assert (f"values/{component}.yaml" in section) == bool(values)
    listed = [line.split("`")[1] for line in section.splitlines() if line.startswith(f"| {component} | `")]
    for path in paths(values[0].body) if values else ():
        assert any(path == known or path.startswith(f"{known}.") for known in listed), f"no reason for {path}"
    assert f"| {component} | {release.chart} |" not in readme.partition("## Charts\n")[2]


def paths(body: Any, path: str = "") -> Iterator[str]:
    """The path of every Helm value that is not a map, with dots between the keys."""
    if isinstance(body, dict) and body:
        for key, value in body.items():
            yield from paths(value, f"{path}.{key}" if path else key)
    else:
        yield path


def test_all_components_of_another_team() -> None:
    findings, files = compiled("prod-use1", **{name: {"managed": False} for name in NAMES})
    assert findings == []
    applications = {file.rpartition("/")[2] for file in files if file.startswith("out/prod-use1/apps/")}
    assert applications == {
        *("gpu-operator-config.yaml", "karpenter-config.yaml", "karpenter-pools.yaml", "kueue-config.yaml"),
        *("kueue-queues.yaml", "monitoring.yaml", "policies-constraints.yaml", "policies-templates.yaml"),
        *("project.yaml", "tenants.yaml"),
    }
    spec = only(files, "out/prod-use1/apps/project.yaml").body["spec"]
    assert spec["sourceRepos"] == [example("prod-use1").spec.delivery.repo]
    assert "CustomResourceDefinition" not in {entry["kind"] for entry in spec["clusterResourceWhitelist"]}
    readme = only(files, "clusters/prod-use1/README.md").text
    assert "If one of the Applications with CRDs" not in readme and "\n\n\n" not in readme


@pytest.mark.share(4)
@pytest.mark.parametrize("component", ["karpenter", "kueue", "gatekeeper", "gpu-operator", "efa"])
@pytest.mark.parametrize("managed", [True, False])
def test_nothing_refers_to_the_old_namespace_of_a_component(component: str, managed: bool) -> None:
    old = example("prod-use1").components[component].namespace
    settings = {component: {"managed": managed, "namespace": "elsewhere"}}
    if component in PAIR:
        settings["karpenter-crd"] = settings[component]
    findings, files = compiled("prod-use1", **settings)
    assert findings == (["CMP001"] if managed and component == "karpenter-crd" else [])
    for artifact in (artifact for artifacts in files.values() for artifact in artifacts):
        if old == "kube-system" or isinstance(artifact, Text):
            continue
        document = artifact.document() if isinstance(artifact, Manifest) else artifact.body
        assert old not in namespaces(document), artifact.file
    readme = only(files, "clusters/prod-use1/README.md").text
    assert "elsewhere" in readme
    assert old == "kube-system" or f"-n {old} " not in readme


def namespaces(value: Any, key: str = "") -> set[str]:
    """The values of all keys that name namespaces, and the namespaces of ServiceAccounts in user names."""
    if isinstance(value, dict):
        return {name for below, item in value.items() for name in namespaces(item, below)}
    if isinstance(value, list):
        return {name for item in value for name in namespaces(item, key)}
    found = (
        {value} if key in ("namespace", "namespaces", "matchNames", "exemptNamespaces", "excludedNamespaces") else set()
    )
    if isinstance(value, str) and "system:serviceaccount:" in value:
        found |= {part.partition(":")[0] for part in value.split("system:serviceaccount:")[1:]}
    return found


def test_another_version_of_another_team_says_what_was_checked() -> None:
    tree = changed(source("prod-use1").tree, ("spec", "components"), {"kueue": {"managed": False}})
    tree = changed(tree, ("spec", "releases"), {"set": "2026.08", "components": {"kueue": "0.19.3"}})
    remove_runtimes(tree["spec"])
    findings, artifacts = compile_tree("prod-use1", tree)
    assert [(finding.id, finding.message) for finding in findings] == [
        (
            "VER101",
            "another team installs kueue 0.19.3; gpuc checked its objects and Helm values with the schemas of 0.19.2, "
            "from release set 2026.08",
        )
    ]
    (readme,) = (artifact.text for artifact in artifacts if artifact.file.endswith("README.md"))
    assert "| kueue | kueue | 0.19.3 | kueue-system |" in readme


def test_an_unknown_component_has_the_nearest_name() -> None:
    tree = changed(source("prod-use1").tree, ("spec", "components"), {"karpeter": {"managed": False}})
    (finding,), _ = compile_tree("prod-use1", tree)
    assert (finding.id, finding.path, finding.fix) == ("VER003", ("spec", "components", "karpeter"), "write karpenter")


def test_lint_checks_the_values_of_another_team(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", ".", "--minimal", "--requirement", "gpuc==0.1.0"]) == 0
    spec = tmp_path / "specs" / "dev-use1.yaml"
    settings = "components: {gpu-operator: {managed: false}}"
    spec.write_text(spec.read_text().replace("spec:\n", f"spec:\n  {settings}\n", 1))
    assert main(["compile", "--strict"]) == 0
    capsys.readouterr()
    assert main(["lint", "out", "clusters"]) == 0
    assert "gpu-operator.yaml" not in capsys.readouterr().out
    file = tmp_path / "clusters/dev-use1/values/gpu-operator.yaml"
    values = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump({**values, "nfdd": {"enabled": True}}))
    assert main(["lint", "out", "clusters"]) == 1
    assert "clusters/dev-use1/values/gpu-operator.yaml" in capsys.readouterr().out
