"""Delivery by Argo CD: folders that no Application syncs, and missing folders, values and charts of Applications."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpuc.catalog import load
from gpuc.cluster.application import application_in
from gpuc.diagnostics.finding import Path
from gpuc.lint.checks.references import delivery, projects
from gpuc.lint.checks.references.delivery import device_plugins
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from tests.conftest import EXAMPLES, compiled_example
from tests.lint.checks.references.trees import example_objects, replaced, with_value
from tests.lint.checks.sound import unsound

APPLICATIONS = """
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pools, namespace: argocd}
spec: {source: {repoURL: https://git.example.com/fleet.git, path: fleet/a/pools}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: tenants, namespace: argocd}
spec: {source: {repoURL: https://git.example.com/fleet, path: ./fleet/a/tenants/, directory: {recurse: true}}}
"""
CHART = """
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter, namespace: argocd}
spec:
  sources:
    - {repoURL: public.ecr.aws/karpenter, chart: CHART, helm: {valueFiles: [$values/fleet/a/karpenter.yaml]}}
    - {repoURL: https://git.example.com/fleet.git, ref: REF}
"""
FILES = {
    "fleet/a/apps/all.yaml": APPLICATIONS,
    "fleet/a/pools/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pools}",
    "fleet/a/tenants/web/a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}",
    "fleet/a/jobs/a.yaml": """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: web, labels: {kueue.x-k8s.io/queue-name: web}}
---
apiVersion: v1
kind: Service
metadata: {name: train, namespace: web}
""",
    "elsewhere/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}",
}


def tree(files: dict[str, str], *, is_complete: bool = True, values: tuple[str, ...] = ()) -> ObjectSet:
    reading = LoadedFiles()
    for file, text in files.items():
        reading.add(file, text)
    assert reading.findings == []
    return ObjectSet(reading.manifests, is_complete=is_complete, value_files=values)


def findings(tree: ObjectSet) -> list[ObjectFinding]:
    return list(delivery.findings(tree))


def reported(
    files: dict[str, str], *, is_complete: bool = True, values: tuple[str, ...] = ()
) -> list[tuple[str, str, str]]:
    return [
        (finding.rule.id, finding.manifest.name, finding.fix)
        for finding in findings(tree(files, is_complete=is_complete, values=values))
    ]


def test_every_folder_beside_a_synced_one_is_synced() -> None:
    assert reported(FILES) == []
    beside = FILES | {"fleet/a/policies/a.yaml": FILES["elsewhere/a.yaml"].replace("other", "policy")}
    assert reported(beside) == [("DLV001", "policy", "")]
    assert reported(beside, is_complete=False) == [], "other files may have an Application for it"
    below = FILES | {"fleet/a/pools/more/a.yaml": FILES["elsewhere/a.yaml"]}
    assert reported(below) == [("DLV001", "other", "")], "without recurse, folders below are not synced"


def test_an_application_needs_files() -> None:
    misspelt = FILES | {"fleet/a/apps/all.yaml": APPLICATIONS.replace("fleet/a/pools", "fleet/a/poolss")}
    assert reported(misspelt)[0] == ("DLV002", "pools", "write fleet/a/pools")
    assert reported(misspelt, is_complete=False) == [("DLV002", "pools", "write fleet/a/pools")]
    gone = {file: text for file, text in FILES.items() if "pools" not in file}
    assert reported(gone) == [("DLV002", "pools", "")]
    assert reported(gone, is_complete=False) == [], "the input may lack the files"
    other = APPLICATIONS.replace("https://git.example.com/fleet.git", "https://git.example.com/other.git")
    assert reported(gone | {"fleet/a/apps/all.yaml": other}) == [], "files of another repository are unknown"
    assert reported({"a.yaml": APPLICATIONS}) == []


def test_a_folder_is_synced_once_to_each_cluster() -> None:
    again = APPLICATIONS.split("---", maxsplit=1)[0].replace("name: pools", "name: again")
    twice = FILES | {"fleet/a/apps/again.yaml": again}
    for is_complete in (True, False):
        assert reported(twice, is_complete=is_complete) == [("DLV005", "again", "")]
    elsewhere = again.replace("spec: {", "spec: {destination: {name: b}, ")
    assert reported(FILES | {"fleet/a/apps/again.yaml": elsewhere}) == []


def test_beside_an_application_set_missing_applications_are_not_reported() -> None:
    made = APPLICATIONS.split("---", maxsplit=1)[0].replace("kind: Application", "kind: ApplicationSet")
    beside = FILES | {"fleet/a/policies/a.yaml": FILES["elsewhere/a.yaml"], "fleet/a/apps/sets.yaml": made}
    assert reported(beside) == []


def chart(name: str = "karpenter", reference: str = "values") -> dict[str, str]:
    return FILES | {"fleet/a/apps/karpenter.yaml": CHART.replace("CHART", name).replace("REF", reference)}


def test_values_files_of_a_chart_exist() -> None:
    assert reported(chart(), values=("fleet/a/karpenter.yaml",)) == []
    expected = [("DLV003", "karpenter", "write $values/fleet/a/karpentre.yaml")]
    assert reported(chart(), values=("fleet/a/karpentre.yaml",)) == expected
    assert reported(chart(), values=()) == [("DLV003", "karpenter", "")]
    assert reported(chart(), values=(), is_complete=False) == []
    for is_complete in (True, False):
        assert reported(chart(reference="other"), is_complete=is_complete, values=("fleet/a/karpenter.yaml",)) == [
            ("DLV003", "karpenter", "")
        ]
    unknown = ObjectSet(tree(chart()).manifests, is_complete=True)
    assert findings(unknown) == [], "the values files are unknown"


POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}"
QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec: {resourceGroups: [{coveredResources: [cpu, nvidia.com/gpu]}]}
"""


def test_charts_that_objects_and_resources_need_are_installed() -> None:
    values = ("fleet/a/karpenter.yaml",)
    assert reported(chart() | {"fleet/a/pools/a.yaml": POOL}, values=values) == []
    assert reported(chart("kueue") | {"fleet/a/pools/a.yaml": POOL}, values=values) == [("DLV004", "a", "")]
    assert reported(FILES | {"fleet/a/pools/a.yaml": POOL}) == [], "input without any chart gets them from elsewhere"
    assert reported(chart("kueue") | {"fleet/a/pools/a.yaml": POOL}, values=values, is_complete=False) == []
    found = findings(tree(chart("kueue") | {"fleet/a/pools/a.yaml": QUEUE}, values=values))
    assert [(finding.rule.id, finding.path) for finding in found] == [
        ("DLV004", ("spec", "resourceGroups", 0, "coveredResources", 1))
    ]
    plugin = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin}
spec: {template: {spec: {containers: [{name: a, image: "nvcr.io/nvidia/k8s-device-plugin:v0.19"}]}}}
"""
    assert reported(chart("kueue") | {"fleet/a/pools/a.yaml": f"{QUEUE}---{plugin}"}, values=values) == []


def test_karpenter_without_its_crds_needs_the_chart_karpenter_crd() -> None:
    text = CHART.replace("CHART", "karpenter").replace("REF", "values").replace("helm: {", "helm: {skipCrds: true, ")
    files, values = FILES | {"fleet/a/apps/karpenter.yaml": text}, ("fleet/a/karpenter.yaml",)
    (finding,) = findings(tree(files, values=values))
    assert (finding.rule.id, finding.path) == ("DLV004", ("spec", "sources", 0, "helm", "skipCrds"))
    definitions = CHART.replace("CHART", "karpenter-crd").replace("REF", "values").replace("name: karpenter", "name: b")
    assert reported(files | {"fleet/a/apps/b.yaml": definitions}, values=values) == []


PROJECT = """
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: a, namespace: argocd}
spec:
  sourceRepos: ["*", "!https://bad.example.com/*"]
  destinations: [{server: "https://kubernetes.default.svc", namespace: "*"}]
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: b, namespace: argocd}
spec:
  project: a
  destination: {name: in-cluster, namespace: b}
  source: {repoURL: "ANY", path: b}
"""


@pytest.mark.parametrize(
    ("url", "expected"), [("https://bad.example.com/b", ["REF012"]), ("https://good.example.com/b", [])]
)
def test_a_project_can_deny_a_repository(url: str, expected: list[str]) -> None:
    objects = tree({"a.yaml": PROJECT.replace("ANY", url)})
    assert [finding.rule.id for finding in projects.findings(objects)] == expected


def values_of(name: str) -> list[str]:
    return [f"out/{name}/{chart}/values.yaml" for chart in compiled_example(name).charts]


def example(name: str, manifests: Any) -> ObjectSet:
    return ObjectSet(manifests, is_complete=True, value_files=values_of(name))


def is_alone(chart: str) -> bool:
    """Whether a chart of the catalog has neither kinds nor resources of its own, so no object shows its absence."""
    rows = [row for components in load().releases.values() for row in components.values() if row.chart == chart]
    brings = {row.crds_from for components in load().releases.values() for row in components.values()}
    with_resources = {name for plugin in device_plugins() for name in plugin.other_charts}
    return bool(rows) and chart not in with_resources and not any(row.groups or row.component in brings for row in rows)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_application_of_an_example_is_needed(name: str) -> None:
    objects = example_objects(name)
    assert findings(example(name, objects)) == []
    applications = [
        manifest for manifest in objects if manifest.kind == "Application" and not manifest.name.endswith("-root")
    ]
    assert len(applications) >= 12
    for application in applications:
        found = findings(example(name, [manifest for manifest in objects if manifest is not application]))
        assert {finding.rule.id for finding in found} <= {"DLV001", "DLV004"}, application
        (own, *_) = application_in(application).sources
        assert found or is_alone(own.chart), application
        if (folder := own.folder) is not None:
            assert all(finding.manifest.file.startswith(f"{folder}/") for finding in found)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_wrong_path_in_an_example_is_reported(name: str) -> None:
    objects = example_objects(name)
    for application in [manifest for manifest in objects if manifest.kind == "Application"]:
        for source in application_in(application).sources:
            wrong: list[tuple[Path, str]] = []
            if source.folder:
                wrong.append(((*source.path, "path"), f"{source.folder}x"))
            if source.chart and "valueFiles" in source.value["helm"]:
                file = source.value["helm"]["valueFiles"][0]
                wrong.append(((*source.path, "helm", "valueFiles", 0), file.replace(".yaml", ".yml")))
            for path, value in wrong:
                broken = replaced(objects, application, with_value(application, path, value))
                found = findings(example(name, broken))
                assert (application.name, path) in [(finding.manifest.name, finding.path) for finding in found]


@pytest.mark.parametrize(
    "strange", [None, True, 7, "", "/", ".", "x", [], {}, [[]], [None], {"": None}, ["$"], ["$a/b"]]
)
def test_any_value_is_accepted(strange: Any) -> None:
    objects = tree(chart()).manifests
    for number, manifest in enumerate(objects):
        if manifest.kind != "Application":
            continue
        bodies: list[dict[str, Any]] = [{"spec": strange}]
        source = {"repoURL": "https://git.example.com/fleet.git", "path": "fleet/a/pools", "chart": "a"}
        bodies += [{"spec": {part: strange}} for part in ("source", "sources", "project")]
        bodies += [{"spec": {"source": {**source, key: strange}}} for key in (*source, "helm", "directory")]
        bodies += [{"spec": {"source": {**source, "helm": {"valueFiles": strange}}}}]
        for body in bodies:
            changed: list[Manifest] = [*objects]
            changed[number] = replace(manifest, body=body)
            for is_complete in (True, False):
                among = ObjectSet(changed, is_complete=is_complete, value_files=())
                assert unsound([*delivery.findings(among), *projects.findings(among)], changed) == []
