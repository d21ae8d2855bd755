"""Parts of one object that have to agree."""

from __future__ import annotations

import pytest
import yaml

from compiler.manifest import Manifest
from compiler.verify.flaw import place
from compiler.verify.inside import flaws
from compiler.verify.tree import Tree

GOOD = """
replicas: 1
selector: {matchLabels: {app: a}}
template:
  metadata: {labels: {app: a, tier: b}}
  spec:
    volumes: [{name: data, emptyDir: {}}]
    initContainers: [{name: copy, image: x, volumeMounts: [{name: data, mountPath: /d}]}]
    containers: [{name: main, image: x, volumeMounts: [{name: data, mountPath: /d}]}]
"""
POD = "spec.template.spec"


def told(text: str, kind: str = "Deployment", api: str = "apps/v1") -> list[tuple[str, str]]:
    manifest = Manifest("a.yaml", (), api, kind, "a", {"spec": yaml.safe_load(text)})
    return [(flaw.fault.id, place(flaw.path)) for flaw in flaws(Tree([manifest], is_whole=False))]


def test_a_good_workload_has_no_flaw() -> None:
    assert told(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "fault", "where"),
    [
        ("{labels: {app: a,", "{labels: {app: b,", "OBJ001", "spec.template.metadata.labels.app"),
        ("{labels: {app: a, tier: b}}", "{}", "OBJ001", "spec.template.metadata.labels"),
        ("[{name: data, empty", "[{name: date, empty", "OBJ002", f"{POD}.initContainers[0].volumeMounts[0].name"),
        ("[{name: copy,", "[{name: main,", "OBJ003", f"{POD}.containers"),
    ],
)  # fmt: skip
def test_parts_that_disagree_are_told(old: str, new: str, fault: str, where: str) -> None:
    assert (fault, where) in told(GOOD.replace(old, new))


def test_a_stateful_set_makes_volumes_of_its_own() -> None:
    text = GOOD.replace("volumes: [{name: data, emptyDir: {}}]", "").replace(
        "replicas: 1", "volumeClaimTemplates: [{metadata: {name: data}}]"
    )
    assert told(text, "StatefulSet") == []
