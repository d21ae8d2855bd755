"""Many copies of the production tree in one, in which nothing is told either; benchmarks/lint.py has the seconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpuc.lint.checks.references import findings
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.lint.checks.references.trees import example_charts, example_objects

COPIES = 57
"""So many that they are about ten thousand objects."""
KEPT = frozenset(("argocd", "gatekeeper-system", "kube-system", "kueue-system", "monitoring"))
RENAMED = frozenset(
    (
        "AppProject",
        "ClusterQueue",
        "Cohort",
        "EC2NodeClass",
        "Job",
        "LocalQueue",
        "Namespace",
        "NodePool",
        "ResourceFlavor",
        "Service",
        "Topology",
        "WorkloadPriorityClass",
    )
)
"""Kinds whose objects have other names in each copy."""


def copied(objects: tuple[Manifest, ...], number: int) -> list[Manifest]:
    """The objects with every name of theirs that others refer to changed, and every reference with it."""
    words = {each.name for each in objects if each.kind in RENAMED}
    words |= {str(value) for each in objects for key, value in each.labels.items() if key == "gpuc.dev/tenant"}

    def new(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: new(each) for key, each in value.items()}
        if isinstance(value, list):
            return [new(each) for each in value]
        if isinstance(value, str) and value.startswith("out/prod-use1"):
            return value.replace("prod-use1", f"copy{number}")
        return f"{value}-{number}x" if value in words - KEPT else value

    return [
        replace(
            each,
            file=new(each.file),
            name=new(each.name) if each.kind in RENAMED else each.name,
            namespace=new(each.namespace),
            labels=new(each.labels),
            body=new(each.body),
        )
        for each in objects
        if number == 0 or each.kind != "ConstraintTemplate"
    ]


def test_nothing_is_told_of_many_clusters_in_one_tree() -> None:
    objects = example_objects("prod-use1")
    many = [each for number in range(COPIES) for each in copied(objects, number)]
    assert len(many) > 9_900
    for whole in (True, False):
        assert list(findings(ObjectSet(many, is_complete=whole, values=example_charts("prod-use1")))) == []
