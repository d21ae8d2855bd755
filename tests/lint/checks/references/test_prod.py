"""The production cluster with one wrong reference: at its source, or at its target."""

from functools import cache

from msgspec.structs import replace

from gpuc.cluster.index import Index
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.symbol_table import NAMED_BY, kind_of
from gpuc.verify.references.names import object_references
from gpuc.verify.references.reference import ObjectReference
from tests.conftest import example
from tests.lanes import some
from tests.lint.checks.references.trees import example_objects, findings_of, replaced, with_value


def prod() -> tuple[Manifest, ...]:
    return example_objects("prod-use1")


@cache
def uses_by_kind() -> dict[str, ObjectReference]:
    """One use of every row and kind of object in the production cluster."""
    found: dict[str, ObjectReference] = {}
    for use in object_references(Index(ObjectSet(prod(), is_complete=True))):
        found.setdefault(f"{use.manifest.kind} {use.reference.path} {use.kind[1]}", use)
    return found


def object_of(kind: str, name: str = "", namespace: str = "") -> Manifest:
    """The first object of a kind, with a name and a namespace if given."""
    wanted = (manifest for manifest in prod() if manifest.kind == kind and name in ("", manifest.name))
    return next(manifest for manifest in wanted if namespace in ("", manifest.namespace))


def found(old: Manifest, new: Manifest, *, is_complete: bool = True) -> list[tuple[str, str, str]]:
    """Id, object and fix of every finding after one object is replaced."""
    return [
        (finding.rule.id, str(finding.manifest), finding.fix)
        for finding in findings_of(replaced(prod(), old, new), is_complete=is_complete, charts_of="prod-use1")
    ]


def test_the_production_cluster_has_many_kinds_of_references() -> None:
    assert len(uses_by_kind()) >= 20


def test_a_missing_target_is_reported_at_the_path_of_the_reference() -> None:
    for use in some(list(uses_by_kind().values()), 6):
        broken = with_value(use.manifest, use.path, f"{use.name}-gone")
        findings = findings_of(replaced(prod(), use.manifest, broken), is_complete=True, charts_of="prod-use1")
        paths = [finding.path for finding in findings if finding.rule is use.rule and finding.manifest is broken]
        assert paths == [use.path]


def test_a_removed_target_is_reported_at_its_source() -> None:
    """Kubernetes creates the priority classes whose names start with system-."""
    in_output = [use for use in uses_by_kind().values() if not use.name.startswith("system-")]
    for use in some(in_output, 6):
        group, kind = use.kind
        targets = [found for found in prod() if found.kind == kind and found.api.rpartition("/")[0] == group]
        where = NAMED_BY.get(f"{group}/{kind}")
        made_by_charts = kind == "ConfigMap" and use.manifest.kind == "ClusterPolicy"
        assert where or made_by_charts or [target for target in targets if target.name == use.name]
        gone = [
            found
            for found in prod()
            if not (found in targets and (found.name == use.name or (where and found.name == use.name.lower())))
        ]
        findings = findings_of(gone, is_complete=True)
        assert (use.rule, use.path) in [(row.rule, row.path) for row in findings if row.manifest is use.manifest]


def test_a_pool_outside_of_kueue_needs_a_resource_quota() -> None:
    """C4: a ResourceQuota has to count the devices of a node pool that no ResourceFlavor selects."""
    quota = object_of("ResourceQuota", namespace="embeddings")
    uncounted = with_value(quota, ("spec", "hard", "requests.nvidia.com/gpu.shared"), "0")
    assert ("VER004", "NodePool embed-l40s", "") in found(quota, uncounted)


def test_namespaces_and_their_labels_have_to_agree() -> None:
    namespace = object_of("Namespace", "embeddings")
    relabelled = with_value(namespace, ("metadata", "labels", "gpuc.dev/tenant"), "platfrom-ml")
    findings = found(namespace, relabelled)
    assert ("REF030", "GpucCostLabel cost-label-platform-ml", "write platfrom-ml") in findings
    queued = object_of("Namespace", "research-lab")
    of_search = with_value(queued, ("metadata", "labels", "gpuc.dev/tenant"), "search")
    assert ("REF031", "LocalQueue research-lab/research", "") in found(queued, of_search)
    assert ("REF030", "GpucImages images", "") not in findings, "the constraint selects another tenant too"
    renamed = replace(namespace, name="elsewhere")
    assert [row[0] for row in found(namespace, renamed)].count("REF040") == 1


def test_resources_of_nodes_queues_and_quotas_have_to_agree() -> None:
    queue = object_of("ClusterQueue", "research")
    path = ("spec", "resourceGroups", 0, "coveredResources")
    findings = found(queue, with_value(queue, path, ["cpu", "memory", "ephemeral-storage"]))
    assert ("REF050", "ClusterQueue research", "") in findings
    assert ("REF050", "ResourceQuota research-lab/gpuc", "") in findings
    quota = object_of("ResourceQuota", namespace="embeddings")
    hard = {"limits.nvidia.com/gpu": "8", "nvidia.com/gpu.shared": "96", "gpus": "1"}
    findings = found(quota, with_value(quota, ("spec", "hard"), hard))
    assert [finding[::2] for finding in findings if finding[0] == "REF051"] == [
        ("REF051", "write requests.nvidia.com/gpu"),
        ("REF051", "write requests.nvidia.com/gpu.shared"),
        ("REF051", ""),
    ]


def test_applications_and_their_project_have_to_agree() -> None:
    application = object_of("Application", "prod-use1-tenants")
    repository = with_value(application, ("spec", "source", "repoURL"), "https://git.example.com/other.git")
    assert [row[0] for row in found(application, repository)] == ["REF012"]
    destination = with_value(application, ("spec", "destination", "server"), "https://other.example.com")
    assert {row[0] for row in found(application, destination)} == {"REF012", "REF013"}
    project = object_of("AppProject")
    kinds = [kind for kind in project.body["spec"]["namespaceResourceWhitelist"] if kind["kind"] != "LimitRange"]
    findings = found(project, with_value(project, ("spec", "namespaceResourceWhitelist"), kinds))
    assert {finding[0] for finding in findings} == {"REF013"}
    kinds = [kind for kind in project.body["spec"]["clusterResourceWhitelist"] if kind["kind"] != "ClusterQueue"]
    findings = found(project, with_value(project, ("spec", "clusterResourceWhitelist"), kinds))
    assert {finding[0] for finding in findings} == {"REF013"}


def test_unused_objects_are_reported() -> None:
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
        findings = findings_of([*prod(), further], is_complete=True, charts_of="prod-use1")
        assert [(finding.rule.id, finding.manifest.name) for finding in findings] == [(wanted, "further")], kind


def test_the_gpu_gate_removes_its_taint() -> None:
    objects = example_objects("infer-euw1")
    assert kind_of("apps/DaemonSet") == ("apps", "DaemonSet")
    without = [manifest for manifest in objects if manifest.kind != "DaemonSet"]
    findings = findings_of(without, is_complete=True, charts_of="infer-euw1")
    pools = [pool.name for pool in example("infer-euw1").gpu_pools]
    assert [(finding.rule.id, finding.manifest.name) for finding in findings] == [("REF025", pool) for pool in pools]
    cilium = example_objects("train-usw2")
    pool = next(manifest for manifest in cilium if manifest.kind == "NodePool" and manifest.name == "data")
    path = ("spec", "template", "spec", "startupTaints", 0, "key")
    broken = with_value(pool, path, "node.cilium.io/agent-notready")
    for is_complete in (True, False):
        findings = findings_of(replaced(cilium, pool, broken), is_complete=is_complete, charts_of="train-usw2")
        assert [(finding.rule.id, finding.fix) for finding in findings] == [
            ("REF025", "write node.cilium.io/agent-not-ready")
        ]
