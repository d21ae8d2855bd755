"""Labels, annotations and tags of the spec, on all objects and on no pod."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.catalog.reserved_keys import reserved_key, reserved_keys
from gpuc.emit.emitters import emit
from gpuc.extra.files import read_files
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.pipeline.fleet_policies import fleet_policies
from gpuc.pipeline.stages import compile_source
from gpuc.source import read
from tests.conftest import CUSTOM, EXAMPLES, Variant
from tests.emit.fleet import manifests
from tests.values import changed

OWNER = "example.com/owner"
SECTIONS: tuple[tuple[str, ...], ...] = ((), ("pools", "embed-l40s"), ("tenants", "platform-ml"))


def labelled(spec: dict[str, Any]) -> None:
    """Adds labels, annotations and tags to the cluster, a pool, and the tenant to which the pool is dedicated."""
    for path in SECTIONS:
        section = spec
        for step in path:
            section = section[step]
        owner = "-".join(("cluster", *path))
        section["labels"] = {OWNER: owner, f"example.com/{path[0] if path else 'cluster'}": "yes"}
        section["annotations"] = {OWNER: f"see {owner}"}
    spec["cloud"]["aws"]["tags"] = {"owner": "cluster", "team": "cluster", "type": "cluster"}
    spec["tenants"]["platform-ml"]["tags"] = {"team": "tenant", "type": "tenant"}
    spec["pools"]["embed-l40s"].setdefault("eks", {})["tags"] = {"type": "pool", "gpuc.dev/pool": "other"}


def objects(cluster: Cluster) -> list[Manifest]:
    return [artifact for artifact in emit(cluster) if isinstance(artifact, Manifest)]


def test_every_object_has_the_labels_of_its_owner(variant: Variant) -> None:
    by_owner: dict[str, set[str]] = {}
    cluster = variant(labelled)
    (tenant,) = (tenant for tenant in cluster.tenants if tenant.name == "platform-ml")
    namespaces = {namespace.name for namespace in tenant.namespaces}
    for manifest in objects(cluster):
        owner = manifest.labels[OWNER]
        assert manifest.annotations[OWNER] == f"see {owner}"
        assert manifest.labels["example.com/cluster"] == "yes"
        by_owner.setdefault(owner, set()).add(manifest.kind)
        if owner == "cluster-tenants-platform-ml":
            assert (manifest.namespace or manifest.name) in namespaces
            assert "example.com/pools" not in manifest.labels, "an example workload belongs to its namespace"
        else:
            assert manifest.namespace not in namespaces
    assert by_owner["cluster-pools-embed-l40s"] == {
        "NodePool", "EC2NodeClass", "NodeOverlay", "DaemonSet"
    }  # fmt: skip
    assert by_owner["cluster-tenants-platform-ml"] >= {
        "Namespace", "ResourceQuota", "LimitRange", "Role", "RoleBinding", "NetworkPolicy",
    }  # fmt: skip
    assert by_owner["cluster"] >= {
        "Application", "AppProject", "ClusterQueue", "PrometheusRule", "ServiceMonitor", "ConstraintTemplate",
        "ClusterPolicy", "FlowSchema", "Job", "Cohort",
    }  # fmt: skip


def test_labels_and_annotations_start_no_pods_and_replace_no_nodes(reference: Cluster, variant: Variant) -> None:
    """Karpenter compares `spec` of EC2NodeClasses and `spec.template` of NodePools; a body is all except metadata."""
    only_metadata = variant(lambda spec: [labelled(spec), *(without_tags(spec))])
    assert [manifest.body for manifest in objects(only_metadata)] == [
        manifest.body for manifest in objects(variant(lambda spec: list(without_tags(spec))))
    ]


def without_tags(spec: dict[str, Any]) -> Iterator[object]:
    pools = (pool.get("eks", {}) for pool in spec["pools"].values())
    for section in (spec["cloud"]["aws"], *pools, *spec["tenants"].values()):
        yield section.pop("tags", None)


def test_labels_of_gpuc_are_not_replaced(reference: Cluster, variant: Variant) -> None:
    own = {"release": "x", "gpuc.dev/tenant": "x", "kueue.x-k8s.io/queue-name": "x"}
    waves = {"argocd.argoproj.io/sync-wave": "99"}
    cluster = variant(lambda spec: spec.update(labels=own, annotations=waves))
    for before, after in zip(objects(reference), objects(cluster), strict=True):
        assert after.labels == own | before.labels
        assert after.annotations == waves | before.annotations


def test_a_tag_of_the_pool_replaces_those_of_tenant_and_cluster(variant: Variant) -> None:
    tags = {
        manifest.name: manifest.body["spec"]["tags"]
        for manifest in objects(variant(labelled))
        if manifest.kind == "EC2NodeClass"
    }
    pool = tags["embed-l40s"]
    assert (pool["owner"], pool["team"], pool["type"]) == ("cluster", "tenant", "pool")
    assert pool["gpuc.dev/pool"] == "embed-l40s"
    assert {tags["train-h100"][key] for key in ("owner", "team", "type")} == {"cluster"}


def test_objects_of_the_user_do_not_change() -> None:
    source, files = read(CUSTOM, "specs/custom-euc1.yaml"), read_files(CUSTOM, "specs/custom-euc1.yaml")
    tree = changed(source.tree, ("spec", "labels"), {OWNER: "platform"})
    compiled = compile_source(replace(source, tree=tree), fleet_policies(CUSTOM), files=files)
    written = [manifest for manifest in compiled.objects if manifest.written]
    assert written and not any(OWNER in str(manifest.document()) for manifest in written)
    assert all(manifest.labels[OWNER] == "platform" for manifest in compiled.objects if not manifest.written)
    assert "custom-euc1-extra" in {manifest.name for manifest in compiled.objects if manifest.kind == "Application"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_spec_cannot_set_a_key_of_gpuc(name: str) -> None:
    for manifest in manifests(name):
        for field in ("labels", "annotations"):
            for key in getattr(manifest, field):
                is_users = ("metadata", field, key) in manifest.overrides
                assert is_users == (reserved_key(key) is None), (manifest, key)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_label_of_the_spec_changes_no_selection(name: str) -> None:
    """Selectors in the output that can select an object with labels of the spec use reserved keys only."""
    for manifest in manifests(name):
        found = list(object_selectors(manifest.body))
        if manifest.kind in ("ServiceMonitor", "ClusterQueue"):
            selector = "selector" if manifest.kind == "ServiceMonitor" else "namespaceSelector"
            found.append(manifest.body["spec"][selector])
        for selector in found:
            keys = [*selector.get("matchLabels", {}), *(term["key"] for term in selector.get("matchExpressions", []))]
            assert all(reserved_key(key) for key in keys), (manifest, selector)


def object_selectors(value: Any) -> Iterator[dict[str, Any]]:
    """Yields the namespaceSelectors, in which labels of Namespaces have a meaning. Other selectors select pods."""
    for key, child in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        if key == "namespaceSelector":
            yield child
        yield from object_selectors(child)


def test_no_entry_reserves_the_keys_of_another_entry() -> None:
    samples = [entry.key + ("name" if entry.key[-1] in "/." else "") for entry in reserved_keys()]
    for entry, sample in zip(reserved_keys(), samples, strict=True):
        assert reserved_key(sample) is entry
