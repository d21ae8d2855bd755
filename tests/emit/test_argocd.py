"""Argo CD: sync order, permissions of the AppProject, and an Application for all emitted objects."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.catalog import load
from gpuc.catalog.schemas import DERIVE, chart, custom_kinds, table
from gpuc.emit.argocd import argocd
from gpuc.emit.component import Component, components
from gpuc.emit.network_objects import CILIUM_POLICY
from gpuc.emit.notify import KIND as NOTIFY
from gpuc.emit.project import (
    MONITORING_KINDS,
    OWN_CLUSTER_KINDS,
    OWN_KINDS,
    PRIORITY_CLASS,
    TENANT_KINDS,
    TRAINING_RUNTIME,
)
from gpuc.kubernetes.argocd import WAVE
from gpuc.manifest.manifest import Kind, Manifest, Values
from tests.conftest import EXAMPLES, example
from tests.emit import fleet

NEVER_SYNCED = ("workloads/",)
PROVIDERS = {
    "karpenter.sh": "karpenter-crd",
    "karpenter.k8s.aws": "karpenter-crd",
    "kueue.x-k8s.io": "kueue",
    "templates.gatekeeper.sh": "gatekeeper",
    "config.gatekeeper.sh": "gatekeeper",
    "expansion.gatekeeper.sh": "gatekeeper",
    "constraints.gatekeeper.sh": "policies-templates",
}
"""The Application that installs the CRDs of an API group."""

each_example = pytest.mark.parametrize("name", EXAMPLES)


def applications(name: str) -> dict[str, Manifest]:
    found = fleet.of_kind(fleet.artifacts(name), "Application")
    return {manifest.name.removeprefix(f"{name}-"): manifest for manifest in found}


def sources(application: Manifest) -> list[dict[str, Any]]:
    spec = application.body["spec"]
    return spec["sources"] if "sources" in spec else [spec["source"]]


def owner(name: str, manifest: Manifest) -> str:
    """Returns the Application that syncs the folder of a manifest."""
    folder = manifest.file.rsplit("/", 1)[0]
    owners = []
    for owning, application in applications(name).items():
        for source in sources(application):
            path = source.get("path")
            recursive = source.get("directory", {}).get("recurse", False)
            if path and (folder == path or (recursive and folder.startswith(f"{path}/"))):
                owners.append(owning)
    assert len(owners) == 1, f"{manifest.file} belongs to {owners}"
    return owners[0]


def synced(name: str) -> list[Manifest]:
    return [
        manifest
        for manifest in fleet.manifests(name)
        if manifest.file.startswith("out/")
        and not manifest.file.startswith(tuple(f"out/{name}/{part}" for part in NEVER_SYNCED))
    ]


def wave_of(manifest: Manifest) -> int:
    return int(manifest.annotations.get(WAVE, "0"))


@each_example
def test_values_are_read_by_the_application_of_their_chart_and_lie_in_no_synced_folder(name: str) -> None:
    emitted = {artifact.file for artifact in fleet.artifacts(name) if isinstance(artifact, Values)}
    read = set()
    for application in applications(name).values():
        for source in sources(application):
            read |= {file.removeprefix("$values/") for file in source.get("helm", {}).get("valueFiles", [])}
            path = source.get("path", "-")
            assert not any(file.startswith(f"{path}/") for file in emitted)
    assert read == emitted


@each_example
def test_crds_come_before_objects_of_their_kinds(name: str) -> None:
    apps = applications(name)
    used = 0
    for manifest in synced(name):
        provider = PROVIDERS.get(manifest.api.split("/")[0])
        if provider:
            assert wave_of(apps[provider]) < wave_of(apps[owner(name, manifest)]), str(manifest)
            used += 1
    assert used > 20


def allowed(kinds: Iterable[Kind], component_kinds: Callable[[Component], Iterable[Kind]]) -> set[Kind]:
    return {*kinds, *(kind for component in components() for kind in component_kinds(component))}


def test_the_examples_use_only_allowed_kinds_and_all_kinds_of_the_lists() -> None:
    emitted = {
        (
            manifest.api.rpartition("/")[0],
            "Gpuc*" if manifest.api.startswith("constraints.") else manifest.kind,
            bool(manifest.namespace),
        )
        for name in EXAMPLES
        for manifest in synced(name)
    }
    of_cluster = {(group, kind) for group, kind, namespaced in emitted if not namespaced}
    of_namespaces = {(group, kind) for group, kind, namespaced in emitted if namespaced}
    own = (*OWN_KINDS, *MONITORING_KINDS, NOTIFY, *TENANT_KINDS, TRAINING_RUNTIME)
    own_of_cluster = (*OWN_CLUSTER_KINDS, PRIORITY_CLASS)
    assert of_cluster == allowed(own_of_cluster, lambda component: component.cluster_kinds)
    assert of_namespaces == {*allowed(own, lambda component: component.kinds), CILIUM_POLICY}


def test_kinds_are_in_the_list_of_their_scope() -> None:
    versions = {"": "v1", "batch": "batch/v1", "policy": "policy/v1", "apps": "apps/v1"}
    checked = 0
    for component in components():
        of_cluster = (*component.cluster_kinds, *component.chart_cluster_kinds)
        for namespaced, kinds in ((False, of_cluster), (True, (*component.kinds, *component.chart_kinds))):
            for group, kind in kinds:
                known = table(versions.get(group, f"{group}/v1"), kind, "1.35")
                if known:
                    assert known.namespaced == namespaced, kind
                    checked += 1
    assert checked


def test_a_component_is_complete() -> None:
    """A component has a module, a row in all release sets, and a schema of the values of its chart."""
    for releases in load().releases.values():
        assert {component.name for component in components()} == releases.keys()
    for component in components():
        assert chart(component.name), f"{component.name}: {DERIVE}"


def test_custom_kinds_of_components_are_in_the_groups_of_a_release() -> None:
    """`groups` determines the chart that the objects of an API group need."""
    groups = {group for releases in load().releases.values() for row in releases.values() for group in row.groups}
    custom = {api.partition("/")[0] for api, _ in custom_kinds()}
    for component in components():
        own = custom & {group for group, _ in (*component.cluster_kinds, *component.kinds)}
        own.discard("monitoring.coreos.com")  # of the Prometheus operator, which the platform installs
        assert own <= groups, f"{component.name}: add {own - groups} to groups of its row in its release.json"


def test_a_component_without_a_row_is_named() -> None:
    cluster = example(EXAMPLES[0])
    with pytest.raises(ValueError, match=r'release set 2026\.08 has no component "nothing": add its row to'):
        replace(components()[0], name="nothing").release(cluster)


@pytest.mark.parametrize(("prune", "expected"), [("never", False), ("confirm", True), ("automatic", True)])
def test_delivery_decides_about_capacity_and_tenants(prune: str, expected: bool, variant: Any) -> None:
    changed = variant(lambda spec: spec["delivery"].update(prune=prune))
    emitted = {manifest.name: manifest for manifest in argocd(changed) if isinstance(manifest, Manifest)}
    for name in ("karpenter-pools", "kueue-queues", "kueue-config", "tenants"):
        automated = emitted[f"prod-use1-{name}"].body["spec"]["syncPolicy"]["automated"]
        assert automated == {"prune": expected, "selfHeal": True}
    assert emitted["prod-use1-monitoring"].body["spec"]["syncPolicy"]["automated"]["prune"] is True
