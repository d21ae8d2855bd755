"""The output has the Helm values and the patches of the spec, and everything else that gpuc emits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cli.main import main
from gpuc.customize.merge import merge_patch
from gpuc.diagnostics.output_error import OutputError
from gpuc.emit.emitters import artifacts_by_emitter
from gpuc.manifest.manifest import Artifact, Body, Manifest, Text
from gpuc.model import Cluster
from gpuc.objects.object_set import dig
from tests.customize.small import NAME, compiled, objects, plain, values, write

CONFIGURATION = ("managerConfig", "controllerManagerConfigYaml")


def compiled_without_findings(added: str, layer: str = "") -> list[Artifact]:
    findings, artifacts = compiled(added, layer)
    assert findings == []
    return artifacts


def test_values_are_merged_last() -> None:
    before = values(plain(), "karpenter").body
    added = {"logLevel": "debug", "controller": {"env": [{"name": "A", "value": "b"}]}}
    settings: Body = {"components": {"karpenter": {"values": added}}}
    after = values(compiled_without_findings(yaml.dump(settings)), "karpenter").body
    assert after == {**before, "logLevel": "debug", "controller": {**before["controller"], **added["controller"]}}
    assert list(after)[: len(before)] == list(before)


def test_null_is_written_because_helm_removes_the_default_of_the_chart() -> None:
    artifacts = compiled_without_findings(
        "components: {gpu-operator: {values: {operator: {resources: {limits: {cpu: null}}}}}}"
    )
    assert values(artifacts, "gpu-operator").body["operator"]["resources"] == {"limits": {"cpu": None}}


def test_null_of_the_spec_file_replaces_the_value_of_a_layer() -> None:
    layer = "components: {karpenter: {values: {logLevel: debug, dnsPolicy: Default}}}"
    artifacts = compiled_without_findings("components: {karpenter: {values: {logLevel: null}}}", layer)
    body = values(artifacts, "karpenter").body
    assert (body["logLevel"], body["dnsPolicy"]) == (None, "Default")


def test_a_map_is_merged_into_a_text() -> None:
    settings = {"clientConnection": {"burst": 600}, "webhook": {"port": None}, "tls": {"minVersion": "1.3"}}
    added = yaml.dump(
        {
            "components": {
                "kueue": {
                    "values": {CONFIGURATION[0]: {CONFIGURATION[1]: settings}},
                    "accept": {"VAL101": "another API server"},
                }
            }
        }
    )
    before = yaml.safe_load(dig(values(plain(), "kueue").body, *CONFIGURATION))
    after = values([*compiled(added)[1]], "kueue")
    text = dig(after.body, *CONFIGURATION)
    expected = merge_patch(before, settings, lambda path: None)
    assert yaml.safe_load(text) == after.embedded[text] == expected
    assert "port" not in expected["webhook"]


def test_a_patch_changes_only_its_target() -> None:
    artifacts = compiled_without_findings(
        """
patches:
  - target: {kind: ResourceQuota, name: "*", namespace: vision}
    patch: {metadata: {labels: {team: vision}}, spec: {hard: {pods: "40"}}}
  - target: {kind: ResourceQuota, name: "*", namespace: vision}
    patch:
      - {op: test, path: /spec/hard/pods, value: "40"}
      - {op: copy, from: /spec/hard/pods, path: "/spec/hard/count~1jobs.batch"}
"""
    )
    before, after = objects(plain()), objects(artifacts)
    changed = {name for name in before if before[name].document() != after[name].document()}
    assert before.keys() == after.keys()
    assert changed and all(name.startswith("ResourceQuota vision/") for name in changed)
    for name in changed:
        old, new = before[name], after[name]
        assert new.labels == {**old.labels, "team": "vision"}
        assert new.annotations == old.annotations
        assert new.body["spec"]["hard"] == {**old.body["spec"]["hard"], "pods": "40", "count/jobs.batch": "40"}
        assert (new.file, new.origin) == (old.file, old.origin)


def test_the_root_application_can_be_patched_but_no_template() -> None:
    label = "{metadata: {labels: {team: a}}}"
    artifacts = compiled_without_findings(f"patches: [{{target: {{kind: Application, name: '*'}}, patch: {label}}}]")
    applications = [item for item in artifacts if isinstance(item, Manifest) and item.kind == "Application"]
    assert f"clusters/{NAME}/root.yaml" in {item.file for item in applications}
    assert all(item.labels["team"] == "a" for item in applications)


def test_the_readme_counts_the_settings_outside_of_the_model() -> None:
    added = """
components: {karpenter: {values: {logLevel: debug, podLabels: {a: b, c: d}}}}
patches:
  - {target: {kind: Namespace, name: vision}, patch: {metadata: {labels: {team: a}}}, why: chargeback}
"""
    text = readme(compiled_without_findings(added))
    assert "gpuc copies into the output: 3 values, 1 patch." in text
    assert "- `karpenter`: `logLevel`, `podLabels.a`, `podLabels.c`" in text
    assert "- `Namespace vision`: chargeback" in text
    assert "Outside of the model" not in readme(plain())


def readme(artifacts: Sequence[Artifact]) -> str:
    (text,) = (item.text for item in artifacts if isinstance(item, Text) and item.file.endswith("README.md"))
    return text


@pytest.mark.slow
def test_customized_output_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = """
components:
  gpu-operator: {values: {operator: {resources: {limits: {cpu: null}}}}}
patches:
  - {target: {kind: NodePool, name: l4}, patch: {spec: {template: {metadata: {labels: {example.com/a: b}}}}}}
"""
    write(tmp_path, added)
    monkeypatch.chdir(tmp_path)
    assert main(["compile", "--strict"]) == 0
    assert main(["check", "--strict", "--fresh"]) == 0
    body = yaml.safe_load((tmp_path / "out/small/gpu-operator/values.yaml").read_text())
    assert body["operator"]["resources"] == {"limits": {"cpu": None}}
    text = (tmp_path / "out/small/karpenter/pools/l4.yaml").read_text()
    assert "example.com/a: b" in text


@pytest.mark.share(2)
@pytest.mark.parametrize("to", ["/spec/more", "/spec/template/more"])
def test_copies_do_not_double_an_object_without_end(to: str) -> None:
    operation = {"op": "copy", "from": "/spec", "path": to}
    patch = {
        "target": {"kind": "NodePool", "name": "l4"},
        "patch": [{**operation, "path": f"{to}{n}"} for n in range(300)],
    }
    findings, _ = compiled(yaml.dump({"patches": [patch]}))
    (finding,) = findings
    assert finding.id == "PAT003"
    assert finding.message.endswith("the object has more than 100000 values, or more than 100 levels")


def test_an_error_of_a_patch_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "patches: [{target: {kind: NodePool, name: l5}, patch: {spec: {weight: 3}}}]")
    monkeypatch.chdir(tmp_path)
    assert main(["compile"]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["specs"]


def test_a_bug_of_gpuc_is_no_finding_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def misspelt(cluster: Cluster) -> list[list[Artifact]]:
        return [[wrong(artifact) for artifact in part] for part in artifacts_by_emitter(cluster)]

    def wrong(artifact: Artifact) -> Artifact:
        is_pool = isinstance(artifact, Manifest) and artifact.kind == "NodePool"
        if is_pool:
            spec: dict[str, Any] = artifact.body["spec"]  # type: ignore[union-attr]
            spec["wieght"] = 1
        return artifact

    monkeypatch.setattr("gpuc.pipeline.stages.artifacts_by_emitter", misspelt)
    with pytest.raises(OutputError) as raised:
        compiled("patches: [{target: {kind: NodePool, name: l4}, patch: {spec: {weigth: 3}}}]")
    (finding,) = raised.value.findings
    assert "spec.wieght: unknown field" in finding.message
    assert finding.path[:2] == ("spec", "pools")


def test_the_message_about_a_replaced_value_has_the_reason_of_gpuc() -> None:
    findings, _ = compiled("components: {karpenter: {values: {replicas: 3}}}")
    assert [finding.message for finding in findings] == [
        "values of karpenter: replicas replaces 2 of gpuc; "
        "reason of gpuc: a second replica continues if a system node fails"
    ]
