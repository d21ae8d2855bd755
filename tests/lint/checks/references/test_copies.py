"""Many copies of the production cluster in one object set, without findings; benchmarks/lint.py measures the time."""

from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.lint.checks.references.trees import example_charts, example_objects
from tests.lint.checks.topics import references as findings

KEPT = frozenset(("argocd", "gatekeeper-system", "kube-system", "kueue-system", "monitoring"))
RENAMED = frozenset(
    (
        "AppProject", "ClusterQueue", "Cohort", "EC2NodeClass", "Job", "LocalQueue", "Namespace", "NodePool",
        "ResourceFlavor", "Service", "Topology", "WorkloadPriorityClass",
    )
)  # fmt: skip
"""Kinds whose objects have other names in every copy."""


def copied(objects: tuple[Manifest, ...], number: int) -> list[Manifest]:
    """The objects with new names, and with the references to these names changed."""
    words = {manifest.name for manifest in objects if manifest.kind in RENAMED}
    words |= {str(value) for manifest in objects for key, value in manifest.labels.items() if key == "gpuc.dev/tenant"}

    def new(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: new(item) for key, item in value.items()}
        if isinstance(value, list):
            return [new(item) for item in value]
        if isinstance(value, str) and value.startswith("out/prod-use1"):
            return value.replace("prod-use1", f"copy{number}")
        return f"{value}-{number}x" if value in words - KEPT else value

    return [
        replace(
            manifest,
            file=new(manifest.file),
            name=new(manifest.name) if manifest.kind in RENAMED else manifest.name,
            namespace=new(manifest.namespace),
            labels=new(manifest.labels),
            body=new(manifest.body),
        )
        for manifest in objects
        if number == 0 or manifest.kind != "ConstraintTemplate"
    ]


@pytest.mark.parametrize("copies", [2, pytest.param(57, marks=pytest.mark.slow)])
def test_no_finding_in_many_clusters_in_one_object_set(copies: int) -> None:
    objects = example_objects("prod-use1")
    many = [manifest for number in range(copies) for manifest in copied(objects, number)]
    assert len(many) > 170 * copies
    for is_complete in (True, False):
        assert list(findings(ObjectSet(many, is_complete=is_complete, values=example_charts("prod-use1")))) == []
