"""Helm values of installed charts are checked against the pinned versions, and findings have the line of the value."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gpuc.cli.main import main
from tests.tables import table

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a, namespace: argocd}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: gpu-operator}
"""
SOURCE = """\
  source:
    repoURL: https://helm.ngc.nvidia.com/nvidia
    chart: gpu-operator
    targetRevision: v26.7.0
    helm:
"""
KUEUE = """\
  source:
    repoURL: registry.k8s.io/kueue/charts
    chart: kueue
    targetRevision: 0.19.2
    helm:
"""


def lint(capsys: pytest.CaptureFixture[str], folder: Path, files: dict[str, str], *words: str) -> dict[str, Any]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text))
    main(["lint", str(folder), "--format", "json", *words])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def ids_and_places(report: dict[str, Any]) -> list[tuple[str, str, int, int]]:
    return [
        (finding["id"], Path(finding["file"]).name, finding["line"], finding["column"])
        for finding in report["findings"]
    ]


SOURCES = {"gpu-operator": APPLICATION + SOURCE, "kueue": APPLICATION + KUEUE}
CASES = table(__file__, "chart_installs.yaml")


@pytest.mark.parametrize("name", CASES)
def test_findings_have_the_line_of_the_value(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[name]
    text = SOURCES[case["source"]] + case["text"] if "source" in case else case["text"]
    report = lint(capsys, tmp_path, {"a.yaml": text})
    assert ids_and_places(report) == [tuple(place) for place in case["finds"]]


def test_values_files_are_found_by_their_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = APPLICATION + SOURCE + "      valueFiles: [$ref/clusters/one/values.yaml]\n"
    files = {
        "apps/a.yaml": text,
        "clusters/one/values.yaml": "driver: {enable: true}\n",
        "clusters/two/x.yaml": "a: 1\n",
    }
    report = lint(capsys, tmp_path, files)
    assert ids_and_places(report) == [("VAL001", "values.yaml", 1, 10)]
    assert "x.yaml" in str(report["unchecked"])
    assert "values.yaml" not in str(report["unchecked"])


def test_values_of_umbrella_charts_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chart = """\
        apiVersion: v2
        name: stack
        version: 1.0.0
        dependencies:
          - {name: gpu-operator, alias: gpu, version: v26.7.0, repository: "https://x", condition: gpu.enabled}
          - {name: kueue, version: 0.19.2, repository: "oci://x"}
          - {name: other, version: 1.0.0, repository: "https://x"}
        """
    values = "global: {a: 1}\ngpu: {enabled: true, global: {}, drivers: {}}\nkueue: {enableKueueViz: 1}\n"
    report = lint(capsys, tmp_path, {"Chart.yaml": chart, "values.yaml": values, "values-prod.yaml": "gpu: {x: 1}\n"})
    assert ids_and_places(report) == [
        ("VAL001", "values-prod.yaml", 1, 7),
        ("VAL001", "values.yaml", 2, 34),
        ("VAL002", "values.yaml", 3, 25),
    ]


def test_another_version_is_reported_as_unchecked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (APPLICATION + SOURCE + "      valuesObject: {driver: {enable: true}}\n").replace("v26.7.0", "v25.3.0")
    report = lint(capsys, tmp_path, {"a.yaml": text})
    assert ids_and_places(report) == []
    assert "gpu-operator in version v25.3.0; gpuc knows the keys of v26.7.0" in str(report["unchecked"])


CONFIG = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plugin-config, namespace: gpu-operator}
data: {shared: "", complete: ""}
"""


def test_config_maps_in_values_must_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def of(name: str, default: str) -> dict[str, Any]:
        values = f"      valuesObject: {{devicePlugin: {{config: {{name: {name}, default: {default}}}}}}}\n"
        return lint(capsys, tmp_path, {"a.yaml": APPLICATION + SOURCE + values + CONFIG})

    assert ids_and_places(of("plugin-config", "complete")) == ids_and_places(of("made-elsewhere", "complete")) == []
    assert [place[0] for place in ids_and_places(of("plugin-configs", "complete"))] == ["VAL003"]
    assert [place[0] for place in ids_and_places(of("plugin-config", "half"))] == ["VAL003"]


KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [pod.yaml]
patches: [{path: patch.yaml}]
configMapGenerator:
  - {name: settings, literals: [A=1], files: [b.conf]}
helmCharts:
  - {name: gpu-operator, version: v26.7.0, valuesInline: {driver: {enable: true}}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: c
      env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: %s}}}]
"""


def test_kustomizations_name_patches_and_generated_objects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {unknown: 1}\n"
    files = {"kustomization.yaml": KUSTOMIZATION, "pod.yaml": POD % "b.conf", "patch.yaml": patch}
    assert ids_and_places(lint(capsys, tmp_path, files)) == [("VAL001", "kustomization.yaml", 8, 68)]
    report = lint(capsys, tmp_path, {"pod.yaml": POD % "c.conf"})
    assert ("pod.yaml", 7) in [place[1:3] for place in ids_and_places(report)], (
        "the generated ConfigMap has no such key"
    )
    assert "Kustomize patches" in str(report["unchecked"])


def test_strings_with_braces_are_not_templates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    {{ .Value }}\n  b: 1\n"
    report = lint(capsys, tmp_path, {"a.yaml": text})
    assert [place[0] for place in ids_and_places(report)] == ["SCH002"]
    for template in ("a: {{ .Values.a }}\n", "{{- if .Values.a }}\na: 1\n{{- end }}\n"):
        report = lint(capsys, tmp_path, {"a.yaml": template})
        assert (ids_and_places(report), "templates" in str(report["unchecked"])) == ([], True)


def test_variables_are_reported_as_unchecked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: ${N}\n"
    report = lint(capsys, tmp_path, {"a.yaml": text})
    assert "such as ${NAME}" in str(report["unchecked"])
    assert all("replicas" not in finding["message"] for finding in report["findings"])


def test_numbers_are_quantities_only_in_quantity_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = """\
        apiVersion: autoscaling/v2
        kind: HorizontalPodAutoscaler
        metadata: {name: a}
        spec:
          scaleTargetRef: {kind: Deployment, name: a}
          maxReplicas: 3
          metrics:
            - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 5}}}
            - {type: Pods, pods: {metric: {name: q}, target: {type: AverageValue, averageValue: 3}}}
            - type: Object
              object: {metric: {name: q}, describedObject: {kind: A, name: b}, target: {type: Value, value: 3}}
        """
    assert ids_and_places(lint(capsys, tmp_path, {"a.yaml": good})) == []
    pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  limits: {cpu: true}\n"
    assert ("SCH002", "b.yaml", 5, 17) in ids_and_places(lint(capsys, tmp_path, {"b.yaml": pool}))


TEMPLATE = """\
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: a}
spec:
  crd: {spec: {names: {kind: A}, validation: {openAPIV3Schema: {properties: {%s: {type: string}}}}}}
  targets: [{target: admission.k8s.gatekeeper.sh, rego: "package a"}]
---
"""
CONSTRAINT = """\
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: A
metadata: {name: b, namespace: not-in-one}
spec:
  enforcementAction: scoped
  scopedEnforcementActions: [{action: warn, enforcementPoints: [{name: audit.gatekeeper.sh}]}]
  match: {kinds: [{apiGroups: [""], kinds: [Pod]}], namespaces: [c]}
  parameters: {label: x}
"""


def test_parameters_are_checked_against_the_only_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ids_and_places(lint(capsys, tmp_path, {"a.yaml": TEMPLATE % "label" + CONSTRAINT})) == []
    assert [
        place[0] for place in ids_and_places(lint(capsys, tmp_path, {"a.yaml": TEMPLATE % "labels" + CONSTRAINT}))
    ] == ["SCH001"]
    two = {"a.yaml": TEMPLATE % "labels", "b.yaml": TEMPLATE % "names" + CONSTRAINT}
    assert ids_and_places(lint(capsys, tmp_path, two)) == [], "it is unknown which template applies"


def test_fields_that_patches_may_add_are_not_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
    service += "spec: {selector: {app: a}, ports: [{port: 80, targetPort: web}]}\n"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: a}}\nspec: {containers: [{name: c}]}\n"
    files = {"s.yaml": service, "p.yaml": pod}
    assert [place[0] for place in ids_and_places(lint(capsys, tmp_path, files))] == ["OBJ022"]
    report = lint(capsys, tmp_path, {"kustomization.yaml": "resources: [s.yaml, p.yaml]\npatches: [{path: x.yaml}]\n"})
    assert (ids_and_places(report), "may add" in str(report["unchecked"])) == ([], True)


def test_stdin_is_read() -> None:
    command = [sys.executable, "-c", "from gpuc.cli.main import main; main(['lint', '-', '--format', 'json'])"]
    ran = subprocess.run(command, input="kind: Pod\napiVersion: v1\n", capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout)["findings"][0]["file"] == "-"


@pytest.mark.parametrize(("version", "code"), [("v1.34.2", 0), ("1.34", 0), ("1.12", 2), ("x", 2)])
def test_an_unknown_kubernetes_version_is_a_usage_error(
    version: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    assert main(["lint", str(tmp_path), "--kubernetes", version]) == code
