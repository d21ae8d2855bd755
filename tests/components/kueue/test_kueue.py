"""Queues, flavors and the controller's configuration, as Kueue would read them."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from ruamel.yaml import YAML

from gpuc.components.kueue.component import kueue
from gpuc.manifest.manifest import Manifest, Values
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL, TENANT_KEY
from gpuc.model.time_limits import MODEL_LOAD_SECONDS, queued_pools
from gpuc.substrates.eks.karpenter.component import karpenter
from tests.conftest import EXAMPLES, HUB_CLUSTERS, example
from tests.verify.findings import verify_schemas, verify_values

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]


def objects(cluster: Cluster, kind: str) -> dict[str, Manifest]:
    return {
        manifest.name: manifest
        for manifest in kueue(cluster)
        if isinstance(manifest, Manifest) and manifest.kind == kind
    }


def configuration(cluster: Cluster) -> tuple[dict[str, Any], str]:
    (values,) = (artifact for artifact in kueue(cluster) if isinstance(artifact, Values))
    text = values.body["managerConfig"]["controllerManagerConfigYaml"]
    return yaml.safe_load(text), text


def groups(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """Returns the resource group of all ClusterQueues, by name of the queue."""
    found = {}
    for name, queue in objects(cluster, "ClusterQueue").items():
        (found[name],) = queue.body["spec"]["resourceGroups"]
    return found


def static_with_topology(spec: dict[str, Any]) -> None:
    spec["pools"]["train-h100"]["nodes"] = {"static": 16}
    spec["pools"]["train-h100"]["topology"] = ["host", "zone", "block"]


def mig_by_operator(spec: dict[str, Any]) -> None:
    spec["pools"]["serve-a100"].setdefault("eks", {})["image"] = {"family": "Ubuntu", "id": "ami-0123456789abcdef0"}


def without_cohort(spec: dict[str, Any]) -> None:
    for queue in spec["queues"].values():
        queue.pop("cohort", None)


@pytest.mark.parametrize("change", [lambda spec: None, static_with_topology, mig_by_operator, without_cohort])
def test_everything_fits_the_schemas(variant: Variant, change: Callable[[dict[str, Any]], None]) -> None:
    cluster = variant(change)
    emitted = list(kueue(cluster))
    assert (
        verify_schemas([manifest for manifest in emitted if isinstance(manifest, Manifest)], cluster.spec.kubernetes)
        == []
    )
    assert verify_values([artifact for artifact in emitted if isinstance(artifact, Values)], cluster.components) == []


def test_the_configuration_means_the_same_to_two_yaml_readers(reference: Cluster) -> None:
    read, text = configuration(reference)
    assert YAML(typ="safe", pure=True).load(text) == read
    assert read["managedJobsNamespaceSelector"]["matchExpressions"] == [{"key": TENANT_KEY, "operator": "Exists"}]


def test_admitted_work_may_wait_for_the_slowest_node(reference: Cluster) -> None:
    wait = configuration(reference)[0]["waitForPodsReady"]
    minutes = {key: int(wait[key].removesuffix("m")) for key in ("timeout", "recoveryTimeout")}
    for queue in reference.queues:
        for pool in queue.pools:
            assert minutes["timeout"] * 2 >= pool.boot_minutes * 3
            assert minutes["recoveryTimeout"] >= pool.boot_minutes
    assert wait["blockAdmission"] is False


def test_c15_work_that_cannot_start_stops_after_a_number_of_attempts(reference: Cluster, variant: Variant) -> None:
    def attempts(cluster: Cluster) -> int:
        """Kueue deactivates the workload at the timeout after `backoffLimitCount` retries."""
        return int(configuration(cluster)[0]["waitForPodsReady"]["requeuingStrategy"]["backoffLimitCount"]) + 1

    assert attempts(reference) == reference.spec.kueue.start_attempts == 8
    assert attempts(variant(lambda spec: spec["kueue"].pop("startAttempts"))) == 6


def test_c19_a_pool_on_hold_has_no_quota_but_its_nodes_can_be_replaced(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["pools"]["train-h100"].update(hold=True))
    for group in (groups(cluster)["research"], groups(cluster)["search"]):
        flavors = {
            flavor["name"]: {resource["nominalQuota"] for resource in flavor["resources"]}
            for flavor in group["flavors"]
        }
        assert flavors["train-h100"] == {"0"}
        assert flavors["batch-a100"] != {"0"}
    (limits,) = (
        artifact.body["spec"]["limits"]
        for artifact in karpenter(cluster)
        if isinstance(artifact, Manifest) and (artifact.kind, artifact.name) == ("NodePool", "train-h100")
    )
    assert limits["nodes"] == "16"


def with_frameworks(*names: str) -> Callable[[dict[str, Any]], None]:
    return lambda spec: spec["kueue"].update(frameworks=["batch/job", *names])


@pytest.mark.parametrize("name", ["pod", "deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"])
def test_pods_without_a_queue_start_if_kueue_manages_pods(name: str, variant: Variant) -> None:
    """workloads.md A.6.3: with manageJobsWithoutQueueName: true, Kueue gated every pod of tenant namespaces forever."""
    read, _ = configuration(variant(with_frameworks(name)))
    assert read["manageJobsWithoutQueueName"] is False
    assert name in read["integrations"]["frameworks"]
    assert read["managedJobsNamespaceSelector"]["matchExpressions"] == [{"key": TENANT_KEY, "operator": "Exists"}]


@pytest.mark.parametrize("names", [(), ("jobset.x-k8s.io/jobset", "kubeflow.org/pytorchjob", "ray.io/raycluster")])
def test_jobs_without_a_queue_wait_if_kueue_manages_only_jobs(names: tuple[str, ...], variant: Variant) -> None:
    assert configuration(variant(with_frameworks(*names)))[0]["manageJobsWithoutQueueName"] is True


def test_a_deployment_may_load_its_model_after_the_slowest_boot(variant: Variant) -> None:
    """Issue 14: Kueue evicted pods of a Deployment that became ready late, again and again."""
    minutes = []
    for names in ((), ("deployment",)):
        wait = configuration(variant(with_frameworks(*names)))[0]["waitForPodsReady"]
        assert wait["timeout"] == wait["recoveryTimeout"]
        minutes.append(int(wait["timeout"].removesuffix("m")))
    jobs, deployments = minutes
    assert deployments == jobs + MODEL_LOAD_SECONDS // 60


def test_fair_sharing_is_one_switch(reference: Cluster, variant: Variant) -> None:
    off = variant(lambda spec: spec["queueing"].update(fairSharing=False))
    for cluster, is_on in ((reference, True), (off, False)):
        shared = [*objects(cluster, "ClusterQueue").values(), *objects(cluster, "Cohort").values()]
        assert len(shared) == 5
        assert {"fairSharing" in manifest.body.get("spec", {}) for manifest in shared} == {is_on}
        assert ("fairSharing" in configuration(cluster)[0]) is is_on
    assert objects(reference, "ClusterQueue")["research"].body["spec"]["fairSharing"] == {"weight": "2"}


def test_only_pools_that_kueue_counts_have_a_flavor(reference: Cluster) -> None:
    """Finding C4: Kueue and the ResourceQuotas counted the same GPUs."""
    flavors = objects(reference, "ResourceFlavor")
    assert set(flavors) == {pool.name for pool in reference.pools} - {"embed-l40s", "serve-a100"}
    assert set(flavors) == {pool.name for pool in reference.pools if pool.counted == "kueue"}
    labels = [flavor.body["spec"]["nodeLabels"] for flavor in flavors.values()]
    assert labels == [{POOL_LABEL: name} for name in flavors]


def test_a_flavor_tolerates_its_pools_taints_but_not_those_of_the_start(variant: Variant) -> None:
    cluster = variant(mig_by_operator)
    flavors = objects(cluster, "ResourceFlavor")
    startup = {taint.key for pool in cluster.pools for taint in pool.startup_taints}
    assert startup
    for pool in queued_pools(cluster):
        tolerations = flavors[pool.name].body["spec"].get("tolerations", [])
        tolerated = {(toleration["key"], toleration["value"], toleration["effect"]) for toleration in tolerations}
        assert tolerated == {(taint.key, taint.value, taint.effect) for taint in pool.taints}
        assert not startup & {toleration["key"] for toleration in tolerations}


def test_preemption_and_strategy_are_those_of_the_spec(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        spec["queues"]["research"].pop("preempt")
        spec["queues"]["search"]["strategy"] = "strict"
        spec["queues"]["search"]["preempt"] = {
            "withinQueue": "lower-or-newer", "reclaim": "lower-priority", "borrowing": "lower-priority",
        }  # fmt: skip

    queues = objects(variant(change), "ClusterQueue")
    for name in ("search", "search-cpu"):
        assert queues[name].body["spec"]["queueingStrategy"] == "StrictFIFO"
        assert queues[name].body["spec"]["preemption"] == {
            "withinClusterQueue": "LowerOrNewerEqualPriority",
            "reclaimWithinCohort": "LowerPriority",
            "borrowWithinCohort": {"policy": "LowerPriority"},
        }
    assert queues["research"].body["spec"]["preemption"] == {
        "withinClusterQueue": "Never",
        "reclaimWithinCohort": "Never",
        "borrowWithinCohort": {"policy": "Never"},
    }


def test_topology_goes_from_the_zone_to_the_host(variant: Variant, reference: Cluster) -> None:
    cluster = variant(static_with_topology)
    (topology,) = objects(cluster, "Topology").values()
    assert [level["nodeLabel"] for level in topology.body["spec"]["levels"]] == [
        "topology.kubernetes.io/zone",
        "topology.k8s.aws/network-node-layer-3",
        "kubernetes.io/hostname",
    ]
    flavors = objects(cluster, "ResourceFlavor")
    named = {name: flavor.body["spec"].get("topologyName") for name, flavor in flavors.items()}
    assert {name: value for name, value in named.items() if value} == {"train-h100": topology.name}
    assert not objects(reference, "Topology")


def test_what_is_referred_to_syncs_first(reference: Cluster) -> None:
    waves: dict[str, set[int]] = {}
    for manifest in kueue(reference):
        if isinstance(manifest, Manifest):
            waves.setdefault(manifest.kind, set()).add(int(manifest.annotations["argocd.argoproj.io/sync-wave"]))
    referred = waves["ResourceFlavor"] | waves["Cohort"] | waves["WorkloadPriorityClass"]
    assert max(referred) < min(waves["ClusterQueue"])


def test_cohorts_name_their_parents(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        spec["cohorts"] = {"company": {"weight": 1}, "labs": {"weight": 3, "parent": "company"}}

    cohorts = objects(variant(change), "Cohort")
    assert cohorts["labs"].body["spec"] == {"parentName": "company", "fairSharing": {"weight": "3"}}
    assert "parentName" not in cohorts["company"].body["spec"]


def test_c4_a_jobset_that_restarts_uses_no_gpus_that_kueue_does_not_count(reference: Cluster) -> None:
    gates = configuration(reference)[0]["featureGates"]
    assert gates == {"ElasticJobsViaWorkloadSlices": False, "ReclaimablePods": False}


def test_t6_no_example_sets_a_weight_that_has_no_effect() -> None:
    """Kueue compares weights only below one parent; a cohort at the top with weight 3 gets no more than another."""
    for name in (*EXAMPLES, *HUB_CLUSTERS):
        for kind, parent in (("ClusterQueue", "cohortName"), ("Cohort", "parentName")):
            for manifest in objects(example(name), kind).values():
                spec = manifest.body.get("spec", {})
                assert spec.get("fairSharing", {}).get("weight", "1") == "1" or parent in spec, manifest


def test_t1_a_block_is_the_lowest_network_layer() -> None:
    """EC2 has four network layers above p6-b200, and three above p5en: Kueue packs gangs by the lowest one."""
    manifests = [artifact for artifact in kueue(example("train-usw2")) if isinstance(artifact, Manifest)]
    topologies = {item.name: item.body["spec"]["levels"] for item in manifests if item.kind == "Topology"}
    flavors = {item.name: item.body["spec"] for item in manifests if item.kind == "ResourceFlavor"}
    blocks = {name: topologies[flavors[name]["topologyName"]][1]["nodeLabel"] for name in ("core-h200", "core-b200")}
    assert blocks == {
        "core-h200": "topology.k8s.aws/network-node-layer-3",
        "core-b200": "topology.k8s.aws/network-node-layer-4",
    }
