"""Templates of inference pools: a Deployment with probes, and a rollout that fits the quota."""

from typing import Any

from gpuc.emit.workloads import workloads
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.model.names import EFA, HUGEPAGES
from tests.conftest import Variant, example
from tests.emit.fleet import of_kind


def deployments(cluster: Cluster) -> dict[str, Manifest]:
    return {manifest.name: manifest for manifest in of_kind(workloads(cluster), "Deployment")}


def pod_of(deployment: Manifest) -> dict[str, Any]:
    return dict(deployment.body["spec"]["template"]["spec"])


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
    jobs = {manifest.name: manifest.labels[QUEUE_LABEL] for manifest in of_kind(workloads(job), "Job")}
    assert jobs["embed-l40s"] == "platform-ml"

    def with_framework(spec: dict[str, Any]) -> None:
        counted_by_kueue(spec)
        spec["kueue"]["frameworks"] = ["batch/job", "deployment"]

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
