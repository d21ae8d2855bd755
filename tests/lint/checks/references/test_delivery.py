"""Delivery by Argo CD: the Applications of the examples, and Applications of any shape."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

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
from tests.lint.texts import texts
from tests.tables import table

CASES = table(__file__, "cases/delivery.yaml")


def findings_in(name: str, manifests: Iterable[Manifest]) -> list[ObjectFinding]:
    """The findings in objects of an example."""
    files = [f"out/{name}/{chart}/values.yaml" for chart in compiled_example(name).charts]
    return list(delivery.findings(ObjectSet(manifests, is_complete=True, value_files=files)))


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
    assert findings_in(name, objects) == []
    applications = [
        manifest for manifest in objects if manifest.kind == "Application" and not manifest.name.endswith("-root")
    ]
    assert len(applications) >= 12
    for application in applications:
        found = findings_in(name, [manifest for manifest in objects if manifest is not application])
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
                found = findings_in(name, broken)
                assert (application.name, path) in [(finding.manifest.name, finding.path) for finding in found]


@pytest.mark.parametrize(
    "strange", [None, True, 7, "", "/", ".", "x", [], {}, [[]], [None], {"": None}, ["$"], ["$a/b"]]
)
def test_any_value_is_accepted(strange: Any) -> None:
    reading = LoadedFiles()
    for file, parts in CASES["with a chart"].items():
        reading.add(file, "\n---\n".join(texts(CASES["objects"], parts)))
    objects = reading.manifests
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
