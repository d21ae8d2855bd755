"""The set of constraints: one broken place each, and the fault that has to name it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.pipeline.stages import compiled_spec
from gpuc.verify import constraints
from tests.conftest import EXAMPLES, ROOT

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def prod() -> tuple[Manifest, ...]:
    return compiled_spec(ROOT, "specs/prod-use1.yaml").synced


def told(tree: tuple[Manifest, ...], *, is_complete: bool = True) -> list[tuple[str, str]]:
    found = ObjectSet(tree, is_complete=is_complete)
    return [(finding.rule.id, finding.manifest.name) for finding in constraints.findings(found)]


def changed(tree: tuple[Manifest, ...], name: str, change: Change) -> tuple[Manifest, ...]:
    def one(manifest: Manifest) -> Manifest:
        if manifest.name != name:
            return manifest
        body = deepcopy(manifest.body)
        change(body)
        return replace(manifest, body=body)

    made = tuple(map(one, tree))
    assert made != tree
    return made


def without(tree: tuple[Manifest, ...], kind: str, name: str = "", namespace: str = "") -> tuple[Manifest, ...]:
    left = tuple(
        each
        for each in tree
        if not (each.kind == kind and name in ("", each.name) and namespace in ("", each.namespace))
    )
    assert left != tree
    return left


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("is_complete", [True, False])
def test_nothing_is_said_of_our_own_trees(name: str, is_complete: bool) -> None:
    assert told(compiled_spec(ROOT, f"specs/{name}.yaml").synced, is_complete=is_complete) == []


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("host-network", lambda body: body["spec"]["match"].pop("namespaceSelector"), "PLC001"),
        ("gpu-limits-search", lambda body: body["spec"]["match"]["namespaceSelector"].clear(), "PLC001"),
        ("gpu-queue-search", lambda body: body["spec"]["match"]["namespaceSelector"].clear(), "PLC014"),
        ("gpu-requests", lambda body: body["spec"]["match"].update(namespaceSelector={}), "PLC014"),
        ("images", lambda body: body["spec"]["match"].pop("namespaceSelector"), "PLC014"),
        ("images", lambda body: body["spec"]["match"].pop("kinds"), "PLC002"),
        ("images", lambda body: body["spec"]["match"]["kinds"][0].pop("kinds"), "PLC002"),
        ("queue-required-search", lambda body: body["spec"]["match"]["kinds"].pop(), "PLC004"),
        ("queue-required-search", lambda body: body["spec"]["parameters"]["queues"].append("serch"), "PLC005"),
        ("pool-selector-search", lambda body: body["spec"]["parameters"]["pools"].append("train-h10"), "PLC005"),
    ],
)
def test_a_broken_constraint_is_named(prod: tuple[Manifest, ...], name: str, change: Change, fault: str) -> None:
    assert (fault, name) in told(changed(prod, name, change))


def test_a_scoped_constraint_denies_where_one_of_its_actions_does(prod: tuple[Manifest, ...]) -> None:
    def scope(action: str, point: str = "*") -> Change:
        def change(body: dict[str, Any]) -> None:
            body["spec"]["match"].pop("namespaceSelector")
            points = [{"action": action, "enforcementPoints": [{"name": point}]}]
            body["spec"].update(enforcementAction="scoped", scopedEnforcementActions=points)

        return change

    assert ("PLC001", "images") in told(changed(prod, "images", scope("deny")))
    assert ("PLC014", "images") in told(changed(prod, "images", scope("warn")))
    assert ("PLC014", "images") in told(changed(prod, "images", scope("deny", "audit.gatekeeper.sh")))


def test_a_constraint_that_tells_all_is_told_of_only_beside_others(prod: tuple[Manifest, ...]) -> None:
    def close(body: dict[str, Any]) -> None:
        body["spec"]["match"]["namespaceSelector"] = {}
        body["spec"]["match"]["excludedNamespaces"] = ["kube-system"]

    assert told(changed(prod, "images", close)) == []
    opened = changed(prod, "images", lambda body: body["spec"]["match"].update(namespaceSelector={}))
    assert told(opened, is_complete=False) == []
    few = tuple(each for each in opened if "constraints.gatekeeper.sh" not in each.api or each.name == "images")
    assert "PLC014" not in [fault for fault, _ in told(few)]


def test_a_tenant_whom_nobody_judges_is_named_at_its_namespaces(prod: tuple[Manifest, ...]) -> None:
    assert ("PLC003", "embeddings") in told(without(prod, "GpucQueueRequired", "queue-required-platform-ml"))


def test_a_constraint_for_nobody_says_who_is_there(prod: tuple[Manifest, ...]) -> None:
    def misspell(body: dict[str, Any]) -> None:
        body["spec"]["match"]["namespaceSelector"]["matchLabels"]["gpuc.dev/tenant"] = "reserch"

    tree = changed(prod, "gpu-limits-research", misspell)
    (finding,) = [
        each
        for each in constraints.findings(ObjectSet(tree, is_complete=True))
        if each.manifest.kind == "GpucGpuLimits"
    ]
    assert (finding.rule.id, finding.fix) == ("PLC003", "research")


def test_a_template_without_a_constraint_is_named(prod: tuple[Manifest, ...]) -> None:
    assert ("PLC006", "gpucimages") in told(without(prod, "GpucImages"))


def test_workloads_that_are_not_expanded_are_told(prod: tuple[Manifest, ...]) -> None:
    assert [fault for fault, _ in told(without(prod, "ExpansionTemplate", "gpuc-job"))] == ["PLC007"]


def test_a_platform_that_nobody_excludes_is_told(prod: tuple[Manifest, ...]) -> None:
    assert [fault for fault, _ in told(without(prod, "Config"))] == ["PLC008"]
