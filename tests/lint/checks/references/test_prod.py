"""The production tree with one reference after the other broken: at its source, and at its target."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.objects.index import Index
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.symbol_table import NAMED_BY, kind_of
from gpuc.verify.references.names import object_references
from gpuc.verify.references.reference import ObjectReference
from tests.lint.checks.references.trees import example_objects, judged, replaced, with_value

PROD = example_objects("prod-use1")


def each_kind_of_use() -> dict[str, ObjectReference]:
    """One use of every row and kind of object in the production tree."""
    found: dict[str, ObjectReference] = {}
    for seen in object_references(Index(ObjectSet(PROD, is_complete=True))):
        found.setdefault(f"{seen.manifest.kind} {seen.reference.path} {seen.kind[1]}", seen)
    return found


USES = each_kind_of_use()
BY_USE = pytest.mark.parametrize("seen", USES.values(), ids=USES.keys())


def object_of(kind: str, name: str = "", namespace: str = "") -> Manifest:
    """The first object of a kind, or the one of a name."""
    wanted = (each for each in PROD if each.kind == kind and name in ("", each.name))
    return next(each for each in wanted if namespace in ("", each.namespace))


def found(old: Manifest, new: Manifest, *, whole: bool = True) -> list[tuple[str, str, str]]:
    """Id, object and fix of every finding after one object is put in the place of another."""
    return [
        (each.rule.id, str(each.manifest), each.fix)
        for each in judged(replaced(PROD, old, new), whole=whole, charts_of="prod-use1")
    ]


def test_the_production_tree_refers_in_many_ways() -> None:
    assert len(USES) >= 20


@BY_USE
def test_a_source_that_names_nothing_is_told_at_its_place(seen: ObjectReference) -> None:
    broken = with_value(seen.manifest, seen.path, f"{seen.name}-gone")
    findings = judged(replaced(PROD, seen.manifest, broken), whole=True, charts_of="prod-use1")
    assert [each.path for each in findings if each.rule is seen.reference.rule and each.manifest is broken] == [
        seen.path
    ]


@BY_USE
def test_a_target_of_another_name_is_missed_by_its_source(seen: ObjectReference) -> None:
    api_group, kind = seen.kind
    targets = [each for each in PROD if each.kind == kind and each.api.rpartition("/")[0] == api_group]
    where = NAMED_BY.get(f"{api_group}/{kind}")
    made_by_charts = kind == "ConfigMap" and seen.manifest.kind == "ClusterPolicy"
    assert where or made_by_charts or [each for each in targets if each.name == seen.name]
    gone = [
        each
        for each in PROD
        if not (each in targets and (each.name == seen.name or (where and each.name == seen.name.lower())))
    ]
    findings = judged(gone, whole=True)
    assert (seen.reference.rule, seen.path) in [
        (each.rule, each.path) for each in findings if each.manifest is seen.manifest
    ]


def test_labels_of_flavors_and_pools_are_held_together() -> None:
    flavor = object_of("ResourceFlavor", "train-h100")
    misspelt = with_value(flavor, ("spec", "nodeLabels"), {"gpuc.dev/pool": "trian-h100"})
    assert ("REF020", "ResourceFlavor train-h100", "write train-h100") in found(flavor, misspelt)
    assert ("REF020", "ResourceFlavor train-h100", "write train-h100") in found(flavor, misspelt, whole=False)
    key = with_value(flavor, ("spec", "nodeLabels"), {"gpuc.dev/pools": "train-h100"})
    assert ("REF020", "ResourceFlavor train-h100", "write gpuc.dev/pool") in found(flavor, key)
    pool = object_of("NodePool", "general")
    relabelled = with_value(pool, ("spec", "template", "metadata", "labels"), {"gpuc.dev/pool": "other"})
    assert {"REF020", "VER004"} <= {each[0] for each in found(pool, relabelled)}


def test_taints_of_flavors_and_pools_are_held_together() -> None:
    flavor = object_of("ResourceFlavor", "embed-l40s")
    bare = with_value(flavor, ("spec", "tolerations"), flavor.body["spec"]["tolerations"][:2])
    assert found(flavor, bare) == [("REF022", "ResourceFlavor embed-l40s", "")]
    value = with_value(flavor, ("spec", "tolerations", 2, "value"), "platform")
    assert found(flavor, value) == [("REF022", "ResourceFlavor embed-l40s", "write platform-ml")]
    pool = object_of("NodePool", "general")
    taint = {"key": "gpuc.dev/tenant", "value": "search", "effect": "NoSchedule"}
    tainted = with_value(pool, ("spec", "template", "spec", "taints"), [taint])
    assert ("REF022", "ResourceFlavor general", "") in found(pool, tainted)


def test_namespaces_and_their_labels_are_held_together() -> None:
    namespace = object_of("Namespace", "embeddings")
    relabelled = with_value(namespace, ("metadata", "labels", "gpuc.dev/tenant"), "platfrom-ml")
    findings = found(namespace, relabelled)
    assert ("REF031", "LocalQueue embeddings/platform-ml", "") in findings
    assert ("REF030", "ClusterQueue platform-ml", "write platfrom-ml") in findings
    assert ("REF030", "GpucImages images", "") not in findings, "it selects by another tenant's label too"
    renamed = replace(namespace, name="elsewhere")
    assert [each[0] for each in found(namespace, renamed)].count("REF040") == 1


def test_resources_of_nodes_queues_and_quotas_are_held_together() -> None:
    queue = object_of("ClusterQueue", "platform-ml")
    path = ("spec", "resourceGroups", 0, "coveredResources")
    findings = found(queue, with_value(queue, path, ["cpu", "memory", "ephemeral-storage"]))
    assert ("REF050", "ClusterQueue platform-ml", "") in findings
    assert ("REF050", "ResourceQuota embeddings/gpuc", "") in findings
    quota = object_of("ResourceQuota", namespace="embeddings")
    hard = {"limits.nvidia.com/gpu": "8", "nvidia.com/gpu.shared": "96", "gpus": "1"}
    findings = found(quota, with_value(quota, ("spec", "hard"), hard))
    assert [each[::2] for each in findings if each[0] == "REF051"] == [
        ("REF051", "write requests.nvidia.com/gpu"),
        ("REF051", "write requests.nvidia.com/gpu.shared"),
        ("REF051", ""),
    ]


def test_applications_and_their_project_are_held_together() -> None:
    application = object_of("Application", "prod-use1-tenants")
    repository = with_value(application, ("spec", "source", "repoURL"), "https://git.example.com/other.git")
    assert [each[0] for each in found(application, repository)] == ["REF012"]
    destination = with_value(application, ("spec", "destination", "server"), "https://other.example.com")
    assert {each[0] for each in found(application, destination)} == {"REF012", "REF013"}
    project = object_of("AppProject")
    kinds = [each for each in project.body["spec"]["namespaceResourceWhitelist"] if each["kind"] != "LimitRange"]
    findings = found(project, with_value(project, ("spec", "namespaceResourceWhitelist"), kinds))
    assert {each[0] for each in findings} == {"REF013"}
    kinds = [each for each in project.body["spec"]["clusterResourceWhitelist"] if each["kind"] != "ClusterQueue"]
    findings = found(project, with_value(project, ("spec", "clusterResourceWhitelist"), kinds))
    assert {each[0] for each in findings} == {"REF013"}


def test_what_nobody_uses_any_more_is_told() -> None:
    for kind, name, wanted in (
        ("Cohort", "company", "REF060"),
        ("ResourceFlavor", "train-h100", "REF060"),
        ("ClusterQueue", "research", "REF060"),
        ("EC2NodeClass", "general", "REF060"),
        ("ConstraintTemplate", "gpucimages", "REF061"),
    ):
        one = object_of(kind, name)
        body = {**one.body, "spec": {**one.body["spec"], "crd": {"spec": {"names": {"kind": "Other"}}}}}
        further = replace(one, name="further", body=body if kind == "ConstraintTemplate" else one.body)
        findings = judged([*PROD, further], whole=True, charts_of="prod-use1")
        assert [(each.rule.id, each.manifest.name) for each in findings] == [(wanted, "further")], kind


def test_the_layout_gate_is_what_takes_its_taint_away() -> None:
    objects = example_objects("infer-euw1")
    assert kind_of("apps/DaemonSet") == ("apps", "DaemonSet")
    without = [each for each in objects if each.kind != "DaemonSet"]
    assert [each.rule.id for each in judged(without, whole=True, charts_of="infer-euw1")] == ["REF025"]
    cilium = example_objects("train-usw2")
    pool = next(each for each in cilium if each.kind == "NodePool")
    path = ("spec", "template", "spec", "startupTaints", 0, "key")
    broken = with_value(pool, path, "node.cilium.io/agent-notready")
    for whole in (True, False):
        findings = judged(replaced(cilium, pool, broken), whole=whole, charts_of="train-usw2")
        assert [(each.rule.id, each.fix) for each in findings] == [("REF025", "write node.cilium.io/agent-not-ready")]
