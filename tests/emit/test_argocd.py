"""Argo CD: sync order, permissions of the AppProject, and an Application for all emitted objects."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from gpuc.catalog import load
from gpuc.catalog.schemas import DERIVE, chart, custom_kinds, table
from gpuc.emit.argocd import argocd
from gpuc.emit.component import Component, components
from gpuc.emit.network_objects import CILIUM_POLICY
from gpuc.emit.project import MONITORING_KINDS, OWN_CLUSTER_KINDS, OWN_KINDS, TENANT_KINDS
from gpuc.kubernetes.argocd import OPTIONS, WAVE
from gpuc.manifest.manifest import Kind, Manifest, Text, Values
from gpuc.model.time_limits import pods_ready_minutes
from gpuc.substrates.eks.scaling import aws, eks
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
    found = [manifest for manifest in fleet.manifests(name) if manifest.kind == "Application"]
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


def readme(name: str) -> str:
    return fleet.readme(fleet.artifacts(name))


def wave_of(manifest: Manifest) -> int:
    return int(manifest.annotations.get(WAVE, "0"))


def project(name: str) -> dict[str, Any]:
    (found,) = (manifest for manifest in fleet.manifests(name) if manifest.kind == "AppProject")
    return dict(found.body["spec"])


def allows(whitelist: list[dict[str, str]], group: str, kind: str) -> bool:
    return any(entry["group"] == group and fnmatch.fnmatchcase(kind, entry["kind"]) for entry in whitelist)


@each_example
def test_every_object_belongs_to_one_application_and_every_application_has_objects(name: str) -> None:
    owners = {owner(name, manifest) for manifest in synced(name)}
    folders = {
        app
        for app, application in applications(name).items()
        if any("path" in source for source in sources(application))
    }
    assert owners == folders


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


@each_example
def test_nodes_come_after_what_they_need_and_tenants_last(name: str) -> None:
    waves = {app: wave_of(application) for app, application in applications(name).items() if app != "root"}
    for earlier in ("karpenter", "gpu-operator", "policies-constraints", "kueue", "monitoring"):
        assert waves[earlier] < waves["karpenter-pools"]
    assert waves["karpenter-pools"] < waves["kueue-config"] < waves["kueue-queues"] < waves["tenants"]
    assert waves["tenants"] == max(waves.values())
    gate = waves.get("gpu-operator-config")
    assert gate is None or waves["gpu-operator"] < gate < waves["karpenter-pools"]


@each_example
def test_the_project_allows_exactly_the_sources_that_are_used(name: str) -> None:
    used = {source["repoURL"] for application in applications(name).values() for source in sources(application)}
    assert set(project(name)["sourceRepos"]) == used


@each_example
def test_the_project_allows_every_object_where_it_goes(name: str) -> None:
    allowed = project(name)
    for manifest in synced(name):
        group = manifest.api.rpartition("/")[0]
        scope = "namespaceResourceWhitelist" if manifest.namespace else "clusterResourceWhitelist"
        assert allows(allowed[scope], group, manifest.kind), str(manifest)
    for application in applications(name).values():
        assert application.body["spec"]["project"] == name


@each_example
def test_finding_5_the_project_allows_namespaces_that_come_and_go(name: str) -> None:
    """If a namespace leaves the list of destinations, the Application ignores its objects and cannot prune them."""
    server = example(name).spec.delivery.destination.server
    assert project(name)["destinations"] == [{"server": server, "namespace": "*"}]


@each_example
def test_finding_10_no_project_warns_of_orphans(name: str) -> None:
    assert "orphanedResources" not in project(name)


@each_example
def test_finding_6_the_root_skips_no_application(name: str) -> None:
    """With ApplyOutOfSyncOnly, a sync does not wait for the health of Applications that are in sync."""
    for app, application in applications(name).items():
        options = application.body["spec"]["syncPolicy"]["syncOptions"]
        assert ("ApplyOutOfSyncOnly=true" in options) == (app != "root")


@each_example
def test_finding_9_deleting_the_gpu_operator_takes_no_labels_off_nodes(name: str) -> None:
    (values,) = (
        artifact
        for artifact in fleet.artifacts(name)
        if isinstance(artifact, Values) and artifact.component == "gpu-operator"
    )
    assert values.body["node-feature-discovery"]["postDeleteCleanup"] is False
    assert "deletes objects of kind GPUCluster" in readme(name)


@each_example
def test_finding_11_the_helm_command_keeps_the_version_of_argo_cd(name: str) -> None:
    (command,) = (line for line in readme(name).splitlines() if "helm upgrade" in line)
    assert '--version "$CHART_VERSION"' in command and "--reuse-values" in command
    assert "CHART_VERSION=$(helm list" in readme(name)


@each_example
def test_findings_7_14_and_15_the_readme_has_the_commands(name: str) -> None:
    text = readme(name)
    assert f"argocd app terminate-op {name}-" in text
    assert """-p '{"status":{"operationState":{"phase":"Terminating"}}}'""" in text
    assert "argocd.argoproj.io/refresh=normal" in text
    assert "argocd.argoproj.io/tracking-id-" in text


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
    own = (*OWN_KINDS, *MONITORING_KINDS, *TENANT_KINDS)
    assert of_cluster == allowed(OWN_CLUSTER_KINDS, lambda component: component.cluster_kinds)
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


@each_example
def test_charts_are_pinned_and_only_those_that_are_needed_ship(name: str) -> None:
    cluster = example(name)
    shipped = applications(name)
    assert ("efa" in shipped) == bool(cluster.efa_pools)
    for component in cluster.components.values():
        if component.component in shipped:
            chart = sources(shipped[component.component])[0]
            expected = (component.repo, component.chart, component.version)
            assert (chart["repoURL"], chart["chart"], chart["targetRevision"]) == expected
            assert not chart["repoURL"].startswith("oci:"), "Argo CD wants registries without a scheme"


def test_crds_of_karpenter_come_from_their_own_chart_only() -> None:
    apps = applications(EXAMPLES[0])
    assert sources(apps["karpenter"])[0]["helm"]["skipCrds"] is True
    assert apps["karpenter-crd"].body["spec"]["syncPolicy"]["automated"]["prune"] is False


@each_example
def test_a_namespace_is_created_by_one_application_and_never_one_of_a_tenant(name: str) -> None:
    cluster = example(name)
    creating = [
        application.body["spec"]["destination"]["namespace"]
        for application in applications(name).values()
        if "CreateNamespace=true" in application.body["spec"]["syncPolicy"]["syncOptions"]
    ]
    assert len(creating) == len(set(creating))
    assert not set(creating) & {*cluster.tenant_namespaces, "kube-system", cluster.spec.observability.namespace}


def test_operands_that_reach_into_the_host_get_a_privileged_namespace() -> None:
    policy = applications(EXAMPLES[0])["gpu-operator"].body["spec"]["syncPolicy"]
    assert policy["managedNamespaceMetadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


@pytest.mark.parametrize(("prune", "expected"), [("never", False), ("confirm", True), ("automatic", True)])
def test_delivery_decides_about_capacity_and_tenants(prune: str, expected: bool, variant: Any) -> None:
    changed = variant(lambda spec: spec["delivery"].update(prune=prune))
    emitted = {manifest.name: manifest for manifest in argocd(changed) if isinstance(manifest, Manifest)}
    for name in ("karpenter-pools", "kueue-queues", "kueue-config", "tenants"):
        automated = emitted[f"prod-use1-{name}"].body["spec"]["syncPolicy"]["automated"]
        assert automated == {"prune": expected, "selfHeal": True}
    assert emitted["prod-use1-monitoring"].body["spec"]["syncPolicy"]["automated"]["prune"] is True


@each_example
def test_what_holds_nodes_or_work_is_not_pruned(name: str) -> None:
    """With `confirm` pruning is on, so annotations protect the objects."""
    if example(name).spec.delivery.prune != "confirm":
        pytest.skip("the spec prunes otherwise")
    kinds = {"NodePool", "EC2NodeClass", "ClusterQueue", "Namespace"}
    kept = [manifest for manifest in synced(name) if manifest.kind in kinds]
    assert {manifest.kind for manifest in kept} == kinds
    assert all("Prune=false" in manifest.annotations[OPTIONS] for manifest in kept)


@each_example
def test_no_application_deletes_what_it_applied_and_all_retry(name: str) -> None:
    for application in applications(name).values():
        assert "finalizers" not in application.document()["metadata"]
        policy = application.body["spec"]["syncPolicy"]
        assert policy["retry"]["limit"] == -1, "finding 7, C6: Argo CD never begins a commit again that has failed"
        assert policy["retry"]["refresh"] is True, "finding 7: a retry takes the newest commit"
        assert policy["retry"]["backoff"]["maxDuration"] == "1m"
        assert {"ServerSideApply=true", "RespectIgnoreDifferences=true"} <= set(policy["syncOptions"])


@each_example
def test_health_checks_are_values_of_argo_cd_by_kind(name: str) -> None:
    (text,) = (
        artifact.text
        for artifact in fleet.artifacts(name)
        if isinstance(artifact, Text) and artifact.file.endswith("health.yaml")
    )
    checks = {
        key.removeprefix("resource.customizations.health."): lua
        for key, lua in yaml.safe_load(text)["configs"]["cm"].items()
        if key.startswith("resource.customizations.health.")
    }
    wanted = {"argoproj.io_Application", "kueue.x-k8s.io_ClusterQueue", "kueue.x-k8s.io_LocalQueue"}
    wanted |= {"karpenter.sh_NodeOverlay", "templates.gatekeeper.sh_ConstraintTemplate"}
    assert wanted <= checks.keys()


@each_example
def test_the_readme_names_what_this_cluster_needs_and_nothing_else(name: str) -> None:
    cluster = example(name)
    text = readme(name)
    assert ("authorize-security-group-ingress" in text) == bool(cluster.efa_pools)
    assert ("describe-capacity-reservations" in text) == any(eks(pool).spec.reservations for pool in cluster.pools)
    for pool in cluster.pools:
        assert (f"--group-name {cluster.name}-{pool.name} " in text) == (eks(pool).spec.placement == "cluster")
    assert aws(cluster).node_role in text and (aws(cluster).interruption_queue or "") in text
    assert f"-f out/{cluster.name}/apps/project.yaml" in text and f"-f clusters/{cluster.name}/root.yaml" in text


def test_c9_the_readme_replaces_the_nodes_of_a_static_pool_without_a_spare_instance() -> None:
    text = readme("train-usw2")
    assert "Pool core-b200: 16 static nodes" in text and "Pool core-h200: 32 static nodes" not in text
    assert "delete nodeclaim NODECLAIM" in text
    assert "static nodes" not in readme("prod-use1")


@each_example
def test_c15_the_readme_has_the_cost_of_a_workload_that_cannot_start(name: str) -> None:
    minutes, attempts = pods_ready_minutes(example(name)), example(name).spec.kueue.start_attempts
    assert f"{attempts} x {minutes} = {attempts * minutes} minutes" in readme(name)


def test_c19_the_readme_has_the_time_from_which_queues_admit_no_more_runs() -> None:
    """The block ends at 11:30. 40 minutes, a run of 48 hours and a boot of 18 minutes before the end."""
    text = readme("train-usw2")
    assert "starts after **2027-01-29 10:32 UTC**" in text
    assert "pools: {sprint-h200: {hold: true}}" in text
    assert "hold: true" not in readme("prod-use1")


def test_c20_the_readme_shows_how_a_wrong_reservation_looks() -> None:
    assert "get ec2nodeclasses train-h100 " in readme("prod-use1")
    assert "If more than 4 nodes of this pool are" in readme("prod-use1")
    assert "capacityReservations" not in readme("infer-euw1")
