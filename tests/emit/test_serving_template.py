"""Templates of inference pools: a Deployment with probes, and a rollout that fits the quota."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpuc.emit.workloads import workloads
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, HUGEPAGES, POOL_LABEL
from gpuc.model.time_limits import MODEL_LOAD_SECONDS
from gpuc.substrates.eks.scaling import eks
from tests.conftest import EXAMPLES, example
from tests.emit import fleet
from tests.verify.findings import verify_schemas

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]


def deployments(cluster: Cluster) -> dict[str, Manifest]:
    return {
        manifest.name: manifest
        for manifest in workloads(cluster)
        if isinstance(manifest, Manifest) and manifest.kind == "Deployment"
    }


def pod_of(deployment: Manifest) -> dict[str, Any]:
    return dict(deployment.body["spec"]["template"]["spec"])


EACH = [
    pytest.param(name, manifest, id=f"{name}-{manifest.name}")
    for name in EXAMPLES
    for manifest in fleet.manifests(name, "workloads")
    if manifest.kind == "Deployment"
]
each_deployment = pytest.mark.parametrize(("name", "deployment"), EACH)


def pool_of(name: str, deployment: Manifest) -> Pool:
    stem = deployment.file.rsplit("/", 1)[1].removesuffix(".yaml")
    return next(pool for pool in example(name).pools if pool.name == stem)


def test_c4_every_portion_of_an_inference_pool_has_a_deployment() -> None:
    """Finding C4: the template of an inference pool was a Job, which Kueue counted and Deployments did not need."""
    assert sorted(deployments(example("prod-use1"))) == [
        "embed-l40s", "serve-a100-1g-10gb", "serve-a100-2g-20gb", "serve-a100-3g-40gb",
    ]  # fmt: skip
    assert sorted(deployments(example("infer-euw1"))) == [
        "embed-l4", "models-a100-1g-5gb", "models-a100-2g-10gb", "models-a100-3g-20gb", "rerank-l4",
    ]  # fmt: skip
    assert not deployments(example("train-usw2"))


@each_deployment
def test_c4_a_deployment_is_counted_once(name: str, deployment: Manifest) -> None:
    """Finding C4: either Kueue or the ResourceQuota of the namespace counts the pods."""
    pool, pod = pool_of(name, deployment), pod_of(deployment)
    if pool.counted == "quota":
        assert not deployment.labels
        assert pod["nodeSelector"] == {POOL_LABEL: pool.name}
        assert pod["tolerations"] == [taint.toleration() for taint in pool.taints]
    else:
        assert deployment.labels[QUEUE_LABEL]
        assert "nodeSelector" not in pod and "tolerations" not in pod, "Kueue adds both"


@each_deployment
def test_c4_a_rollout_needs_no_additional_quota(name: str, deployment: Manifest) -> None:
    """Finding C4: with maxSurge, the new pod waits for a GPU that the old pod keeps."""
    spec = deployment.body["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    assert spec["replicas"] == 1
    needed = pool_of(name, deployment).boot_minutes * 60 + MODEL_LOAD_SECONDS
    assert spec["progressDeadlineSeconds"] > needed


@each_deployment
def test_the_probes_wait_for_the_model(name: str, deployment: Manifest) -> None:
    (container,) = pod_of(deployment)["containers"]
    (port,) = container["ports"]
    assert port["name"] == "http"
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": "http"}
        assert container[probe]["timeoutSeconds"] == 5
    startup = container["startupProbe"]
    assert startup["failureThreshold"] * startup["periodSeconds"] >= MODEL_LOAD_SECONDS


@each_deployment
def test_a_pod_ends_within_the_grace_period_of_its_node(name: str, deployment: Manifest) -> None:
    pool, pod = pool_of(name, deployment), pod_of(deployment)
    (container,) = pod["containers"]
    grace = pod["terminationGracePeriodSeconds"]
    limit = eks(pool).grace_seconds
    assert limit is not None and container["lifecycle"]["preStop"]["sleep"]["seconds"] < grace <= limit
    assert grace <= 120 or "spot" not in eks(pool).spec.purchase


@each_deployment
def test_service_and_budget_select_the_pods(name: str, deployment: Manifest) -> None:
    labels = deployment.body["spec"]["template"]["metadata"]["labels"]
    others = {
        manifest.kind: manifest
        for manifest in fleet.manifests(name, "workloads")
        if manifest.name == deployment.name and manifest is not deployment
    }
    assert {manifest.namespace for manifest in others.values()} == {deployment.namespace}
    assert deployment.body["spec"]["selector"]["matchLabels"] == labels
    assert others["Service"].body["spec"]["selector"] == labels
    assert others["PodDisruptionBudget"].body["spec"] == {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
    (spread,) = pod_of(deployment)["topologySpreadConstraints"]
    assert spread["labelSelector"] == {"matchLabels": labels}
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"


def test_the_port_is_the_first_one_that_the_tenant_opens(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        ports = [{"port": 53, "protocol": "UDP"}, {"port": 9001}, {"port": 9002}]
        spec["tenants"]["search"]["network"]["ingress"][0]["ports"] = ports

    cluster = deployments(variant(change))
    for name, port in (("serve-a100-1g-10gb", 9001), ("embed-l40s", 8000)):
        (container,) = pod_of(cluster[name])["containers"]
        assert container["ports"][0]["containerPort"] == port
        assert f'(("", {port}), Handler)' in container["command"][2]


def test_a_template_is_in_the_namespace_that_has_the_quota(variant: Variant) -> None:
    def only_small(spec: dict[str, Any]) -> None:
        quota = {"serve-a100": {"slices": {"1g.10gb": 64}}}
        spec["tenants"]["search"]["namespaces"]["search-serving"]["quota"] = quota

    assert {manifest.namespace for manifest in deployments(example("prod-use1")).values()} == {
        "search-serving", "embeddings",
    }  # fmt: skip
    assert sorted(deployments(variant(only_small))) == ["embed-l40s", "serve-a100-1g-10gb"]
    leaving = variant(lambda spec: spec["tenants"]["search"]["namespaces"]["search-serving"].update(leaving=True))
    assert sorted(deployments(leaving)) == ["embed-l40s"]


def test_spot_shortens_the_grace_period(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["pools"]["embed-l40s"]["eks"].update(purchase=["spot", "on-demand"]))
    assert pod_of(deployments(cluster)["embed-l40s"])["terminationGracePeriodSeconds"] == 120
    assert pod_of(deployments(cluster)["serve-a100-1g-10gb"])["terminationGracePeriodSeconds"] == 150


def counted_by_kueue(spec: dict[str, Any]) -> None:
    spec["pools"]["embed-l40s"]["counted"] = "kueue"
    spec["tenants"]["platform-ml"]["namespaces"]["embeddings"].pop("quota")
    spec["queues"]["platform-ml"] = {"tenants": ["platform-ml"], "quota": {"embed-l40s": {"shares": 96}}}


def test_without_the_framework_a_pool_that_kueue_counts_has_a_job(variant: Variant) -> None:
    job = variant(counted_by_kueue)
    assert "embed-l40s" not in deployments(job)
    assert [
        (manifest.kind, manifest.labels[QUEUE_LABEL])
        for manifest in workloads(job)
        if isinstance(manifest, Manifest) and manifest.name == "embed-l40s"
    ] == [("Job", "platform-ml")]

    def with_framework(spec: dict[str, Any]) -> None:
        counted_by_kueue(spec)
        spec["kueue"]["frameworks"].append("deployment")

    assert deployments(variant(with_framework))["embed-l40s"].labels[QUEUE_LABEL] == "platform-ml"


def test_a_server_on_an_efa_pool_takes_no_interfaces(variant: Variant) -> None:
    """A pod that requests EFA would have to read the NCCL profile of its namespace."""

    def change(spec: dict[str, Any]) -> None:
        spec["pools"]["batch-a100"].update(purpose="inference")
        spec["pools"]["batch-a100"].pop("runs")
        for queue in ("research", "search"):
            spec["queues"][queue]["quota"].pop("batch-a100")
        spec["tenants"]["search"]["namespaces"]["search-serving"]["quota"]["batch-a100"] = {"nodes": 2}

    requests = pod_of(deployments(variant(change))["batch-a100"])["containers"][0]["resources"]["requests"]
    assert requests["nvidia.com/gpu"] == "8" and EFA not in requests and HUGEPAGES not in requests


@pytest.mark.parametrize("name", EXAMPLES)
def test_templates_fit_the_schemas(name: str) -> None:
    objects = [manifest for manifest in workloads(example(name)) if isinstance(manifest, Manifest)]
    assert verify_schemas(objects, example(name).spec.kubernetes) == []
