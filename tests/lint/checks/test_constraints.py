"""Constraints with one wrong value, and the rule that reports it."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc import verify
from gpuc.lint import checks
from gpuc.lint.checks.constraints import constraints
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.subject import Subject
from tests.conftest import compiled_example

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def prod() -> tuple[Manifest, ...]:
    return compiled_example("prod-use1").synced


def reported(tree: tuple[Manifest, ...], *, is_complete: bool = True) -> list[tuple[str, str]]:
    found = ObjectSet(tree, is_complete=is_complete)
    return [(finding.rule.id, finding.manifest.name) for finding in constraints.findings(found)]


def changed(tree: tuple[Manifest, ...], name: str, change: Change) -> tuple[Manifest, ...]:
    def change_named(manifest: Manifest) -> Manifest:
        if manifest.name != name:
            return manifest
        body = deepcopy(manifest.body)
        change(body)
        return replace(manifest, body=body)

    made = tuple(map(change_named, tree))
    assert made != tree
    return made


def without(tree: tuple[Manifest, ...], kind: str, name: str = "", namespace: str = "") -> tuple[Manifest, ...]:
    left = tuple(
        manifest
        for manifest in tree
        if not (manifest.kind == kind and name in ("", manifest.name) and namespace in ("", manifest.namespace))
    )
    assert left != tree
    return left


@pytest.mark.parametrize(
    ("name", "change", "rule_id"),
    [
        ("host-network", lambda body: body["spec"]["match"].pop("namespaceSelector"), "PLC001"),
        ("gpu-limits-search", lambda body: body["spec"]["match"]["namespaceSelector"].clear(), "PLC001"),
        ("gpu-queue-search", lambda body: body["spec"]["match"]["namespaceSelector"].clear(), "PLC001"),
        ("gpu-requests", lambda body: body["spec"]["match"].update(namespaceSelector={}), "PLC001"),
        ("images", lambda body: body["spec"]["match"].pop("namespaceSelector"), "PLC014"),
        ("images", lambda body: body["spec"]["match"].pop("kinds"), "PLC002"),
        ("images", lambda body: body["spec"]["match"]["kinds"][0].pop("kinds"), "PLC002"),
        ("queue-required-search", lambda body: body["spec"]["match"]["kinds"].pop(), "PLC004"),
    ],
)
def test_a_broken_constraint_is_named(prod: tuple[Manifest, ...], name: str, change: Change, rule_id: str) -> None:
    assert (rule_id, name) in reported(changed(prod, name, change))


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("name", "change", "fix"),
    [
        (
            "queue-required-search",
            lambda body: body["spec"]["parameters"]["queues"][0]["queues"].append("serch"),
            "write search",
        ),
        ("queue-required-search", lambda body: body["spec"]["parameters"]["priorities"].append("gpuc-none"), ""),
        ("pool-selector-search", lambda body: body["spec"]["parameters"]["pools"].append("train-h10"), ""),
    ],
)
def test_a_wrong_name_in_a_parameter_is_one_finding(
    prod: tuple[Manifest, ...], name: str, change: Change, fix: str
) -> None:
    objects = ObjectSet(changed(prod, name, change), is_complete=True)
    for found in (checks.findings(objects), verify.findings(Subject(objects, "1.35"))):
        of_constraint = [finding for finding in found if finding.manifest.name == name]
        assert [(finding.rule.id, finding.fix) for finding in of_constraint] == [("PLC005", fix)]


def test_a_parameter_of_a_policy_of_users_names_a_queue(prod: tuple[Manifest, ...]) -> None:
    spec = {"match": {"kinds": [{"kinds": ["Job"]}], "namespaces": ["search"]}, "parameters": {"queue": "serch"}}
    constraint = Manifest("a.yaml", (), "constraints.gatekeeper.sh/v1beta1", "AllowedQueue", "own", {"spec": spec})
    (finding,) = constraints.findings(ObjectSet((*prod, constraint), is_complete=False))
    assert (finding.rule.id, finding.path, finding.fix) == ("PLC005", ("spec", "parameters", "queue"), "write search")
    assert finding.message == 'the LocalQueue "serch" does not exist, did you mean "search"'


def test_a_scoped_constraint_denies_where_one_of_its_actions_does(prod: tuple[Manifest, ...]) -> None:
    def scope(action: str, point: str = "*") -> Change:
        def change(body: dict[str, Any]) -> None:
            body["spec"]["match"].pop("namespaceSelector")
            points = [{"action": action, "enforcementPoints": [{"name": point}]}]
            body["spec"].update(enforcementAction="scoped", scopedEnforcementActions=points)

        return change

    assert ("PLC001", "images") in reported(changed(prod, "images", scope("deny")))
    assert ("PLC014", "images") in reported(changed(prod, "images", scope("warn")))
    assert ("PLC014", "images") in reported(changed(prod, "images", scope("deny", "audit.gatekeeper.sh")))


def test_a_constraint_on_all_namespaces_is_reported_only_beside_others(prod: tuple[Manifest, ...]) -> None:
    def close(body: dict[str, Any]) -> None:
        body["spec"]["match"]["namespaceSelector"] = {}
        body["spec"]["match"]["excludedNamespaces"] = ["kube-system"]

    assert reported(changed(prod, "images", close)) == []
    opened = changed(prod, "images", lambda body: body["spec"]["match"].update(namespaceSelector={}))
    assert reported(opened, is_complete=False) == []
    few = tuple(
        manifest for manifest in opened if "constraints.gatekeeper.sh" not in manifest.api or manifest.name == "images"
    )
    assert "PLC014" not in [rule_id for rule_id, _ in reported(few)]


def test_a_tenant_without_a_constraint_is_reported_at_its_namespaces(prod: tuple[Manifest, ...]) -> None:
    assert ("PLC003", "embeddings") in reported(without(prod, "GpucQueueRequired", "queue-required-platform-ml"))


def test_a_constraint_that_matches_no_tenant_is_one_finding(prod: tuple[Manifest, ...]) -> None:
    def misspell(body: dict[str, Any]) -> None:
        body["spec"]["match"]["namespaceSelector"]["matchLabels"]["gpuc.dev/tenant"] = "reserch"

    objects = ObjectSet(changed(prod, "gpu-limits-research", misspell), is_complete=True)
    found = [finding for finding in checks.findings(objects) if finding.manifest.kind == "GpucGpuLimits"]
    assert [(finding.rule.id, finding.fix) for finding in found] == [("REF030", "write research")]


def test_a_constraint_that_denies_everywhere_is_one_finding(prod: tuple[Manifest, ...]) -> None:
    tree = changed(prod, "gpu-limits-search", lambda body: body["spec"]["match"]["namespaceSelector"].clear())
    assert [row for row in reported(tree) if row[0] == "PLC001"] == [("PLC001", "gpu-limits-search")]


def test_a_template_without_a_constraint_is_named(prod: tuple[Manifest, ...]) -> None:
    assert ("PLC006", "gpucimages") in reported(without(prod, "GpucImages"))


def test_workloads_that_are_not_expanded_are_reported(prod: tuple[Manifest, ...]) -> None:
    assert [rule_id for rule_id, _ in reported(without(prod, "ExpansionTemplate", "gpuc-job"))] == ["PLC007"]


def test_platform_namespaces_have_to_be_excluded(prod: tuple[Manifest, ...]) -> None:
    assert [rule_id for rule_id, _ in reported(without(prod, "Config"))] == ["PLC008"]
