"""Workload templates: a quota counts them, they fit on a node, and they pass Pod Security."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from gpuc.emit.commands import NO_PROGRESS_CODE, STOPPED_CODE, program
from gpuc.emit.policy_facts import FACTS
from gpuc.emit.workloads import workloads
from gpuc.kubernetes.amounts import CPU
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, Namespace, Pool, Tenant
from gpuc.model.names import EFA, GPU, HUGEPAGES, POOL_LABEL, SHARED_GPU
from gpuc.model.time_limits import pods_ready_minutes
from gpuc.substrates.eks.scaling import eks
from tests.conftest import EXAMPLES, example
from tests.emit import fleet

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]


def templates(*kinds: str) -> list[Any]:
    found = [
        (name, manifest)
        for name in EXAMPLES
        for manifest in fleet.manifests(name, "workloads")
        if manifest.kind in kinds
    ]
    return [pytest.param(name, manifest, id=f"{name}-{manifest.name}") for name, manifest in found]


each_job = pytest.mark.parametrize(("name", "job"), templates("Job"))
each_template = pytest.mark.parametrize(("name", "job"), templates("Job", "Deployment"))


def pool_of(name: str, job: Manifest) -> Pool:
    stem = job.file.rsplit("/", 1)[1].removesuffix(".yaml")
    return next(pool for pool in example(name).pools if pool.name == stem)


def place_of(name: str, job: Manifest) -> tuple[Tenant, Namespace]:
    return next(
        (tenant, namespace) for tenant, namespace in example(name).namespaces if namespace.name == job.namespace
    )


def uses_mps(pool: Pool) -> bool:
    return pool.spec.sharing is not None and pool.spec.sharing.mps is not None


def pod_of(job: Manifest) -> dict[str, Any]:
    return dict(job.body["spec"]["template"]["spec"])


def requests_of(job: Manifest) -> dict[str, Fraction]:
    (container,) = pod_of(job)["containers"]
    assert container["resources"]["requests"] == container["resources"]["limits"]
    return {
        resource: parse_quantity(text) * (1000 if resource == CPU else 1)
        for resource, text in container["resources"]["requests"].items()
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_pool_with_a_quota_has_one(name: str) -> None:
    cluster = example(name)
    files = {manifest.file.rsplit("/", 1)[1] for manifest in fleet.manifests(name, "workloads")}
    assert files == {f"{pool.name}.yaml" for pool in cluster.pools if cluster.tenants_of(pool)}


@each_template
def test_a_pod_fits_a_node_of_its_pool_and_asks_only_for_what_it_has(name: str, job: Manifest) -> None:
    node = pool_of(name, job).node
    wanted = requests_of(job)
    assert wanted.keys() <= node.keys()
    assert all(0 < amount <= node[resource] for resource, amount in wanted.items())


@each_template
def test_a_full_set_of_slices_fits_the_node(name: str, job: Manifest) -> None:
    pool = pool_of(name, job)
    wanted = requests_of(job)
    pieces = [resource for resource in pool.gpu_resource_names if resource in wanted]
    for resource in pieces:
        times = pool.node[resource] // int(wanted[resource])
        assert times >= 1
        assert all(
            amount * times <= pool.node[resource]
            for resource, amount in wanted.items()
            if resource not in (EFA, HUGEPAGES)
        )


@each_template
def test_all_pods_fit_the_quota_that_counts_them(name: str, job: Manifest) -> None:
    pool, requests = pool_of(name, job), requests_of(job)
    pods = job.body["spec"]["parallelism" if job.kind == "Job" else "replicas"]
    if QUEUE_LABEL in job.labels:
        assert pool.counted == "kueue"
        queues = [part for queue in example(name).queues for part in queue.cluster_queues]
        (queue,) = (part for part in queues if part.name == job.labels[QUEUE_LABEL])
        (quota,) = (pool_quota.nominal for pool_quota in queue.pool_quotas if pool_quota.pool.name == pool.name)
    else:
        assert pool.counted == "quota"
        _, namespace = place_of(name, job)
        (quota,) = (quota.amounts for quota in namespace.quotas if quota.pool.name == pool.name)
    assert all(amount * pods <= quota[resource] for resource, amount in requests.items())


@each_job
def test_a_job_has_as_many_completions_as_pods(name: str, job: Manifest) -> None:
    assert job.body["spec"]["completions"] == job.body["spec"]["parallelism"]


@each_job
def test_its_local_queue_is_in_its_namespace(name: str, job: Manifest) -> None:
    queues = [manifest for manifest in fleet.manifests(name, "tenants") if manifest.kind == "LocalQueue"]
    assert (job.labels[QUEUE_LABEL], job.namespace) in {(queue.name, queue.namespace) for queue in queues}
    classes = {
        manifest.name for manifest in fleet.manifests(name, "kueue/config") if manifest.kind == "WorkloadPriorityClass"
    }
    assert job.labels["kueue.x-k8s.io/priority-class"] in classes


@each_job
def test_it_names_its_pool_exactly_where_the_policy_wants_a_choice(name: str, job: Manifest) -> None:
    tenant, _ = place_of(name, job)
    open_resources = {choice["resource"] for choice in FACTS["tenant.choices"](example(name), tenant)}
    selector = pod_of(job).get("nodeSelector", {})
    chosen = {POOL_LABEL: pool_of(name, job).name} if open_resources & requests_of(job).keys() else {}
    assert selector == chosen
    assert "tolerations" not in pod_of(job)


@each_template
def test_it_passes_pod_security_and_takes_its_image_from_an_allowed_registry(name: str, job: Manifest) -> None:
    _, namespace = place_of(name, job)
    pod = pod_of(job)
    (container,) = pod["containers"]
    capabilities = container["securityContext"].get("capabilities", {})
    if capabilities.get("add"):
        assert capabilities["add"] == ["IPC_LOCK"] and namespace.spec.pod_security == "privileged"
        assert pool_of(name, job).has_efa
    if namespace.spec.pod_security == "restricted":
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert capabilities == {"drop": ["ALL"]}
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
    registries = example(name).policy_settings("images")["registries"]
    assert container["image"].startswith(tuple(registries))


@each_template
def test_c26_efa_needs_no_privileged_namespace_on_al2023(name: str, job: Manifest) -> None:
    _, namespace = place_of(name, job)
    assert namespace.spec.pod_security != "privileged"
    (container,) = pod_of(job)["containers"]
    assert "add" not in container["securityContext"].get("capabilities", {})


@each_template
def test_shared_memory_is_less_than_the_containers_memory(name: str, job: Manifest) -> None:
    pool, volumes = pool_of(name, job), pod_of(job).get("volumes", [])
    assert bool(volumes) == (pool.is_gpu and not uses_mps(pool))
    for volume in volumes:
        assert parse_quantity(volume["emptyDir"]["sizeLimit"]) <= requests_of(job)["memory"] / 2


@each_job
def test_a_gang_takes_full_nodes_and_reads_the_nccl_profile(name: str, job: Manifest) -> None:
    pool = pool_of(name, job)
    if not pool.has_efa:
        assert SHARED_GPU not in requests_of(job) or requests_of(job)[SHARED_GPU] == 1
        return
    (container,) = pod_of(job)["containers"]
    wanted = requests_of(job)
    assert wanted[GPU] == pool.node[GPU] and wanted[EFA] == pool.node[EFA]
    assert job.body["spec"]["parallelism"] == 2
    (service,) = (
        manifest
        for manifest in fleet.manifests(name, "workloads")
        if manifest.kind == "Service" and manifest.file == job.file
    )
    assert pod_of(job)["subdomain"] == service.name and service.body["spec"]["clusterIP"] == "None"
    assert f"--master-addr={job.name}-0.{service.name}.{job.namespace}.svc.cluster.local" in container["command"]
    maps = {
        (manifest.name, manifest.namespace)
        for manifest in fleet.manifests(name, "tenants")
        if manifest.kind == "ConfigMap"
    }
    (reference,) = container["envFrom"]
    assert (reference["configMapRef"]["name"], job.namespace) in maps


@each_job
def test_long_runs_keep_their_nodes(name: str, job: Manifest) -> None:
    pool = pool_of(name, job)
    runs = pool.spec.runs
    notes = job.body["spec"]["template"].get("metadata", {}).get("annotations", {})
    assert (notes.get("karpenter.sh/do-not-disrupt") == "true") == (
        runs is not None and "spot" not in eks(pool).spec.purchase
    )
    assert runs is None or job.body["spec"]["activeDeadlineSeconds"] <= runs.longest


@each_job
def test_a2_a_gang_starts_even_if_its_nodes_boot_minutes_apart(name: str, job: Manifest) -> None:
    """workloads.md A.2: torchrun with c10d failed 60 seconds after the start if pod 0 was not there."""
    if not pool_of(name, job).has_efa:
        return
    (container,) = pod_of(job)["containers"]
    command = container["command"]
    options = dict(word.removeprefix("--").split("=", 1) for word in command if word.startswith("--"))
    assert "rdzv-backend" not in options and "rdzv-endpoint" not in options
    assert options["node-rank"] == "$(JOB_COMPLETION_INDEX)"
    assert options["master-port"] == "29500"
    seconds = int(options["rdzv-conf"].removeprefix("timeout="))
    assert seconds == pods_ready_minutes(example(name)) * 60
    assert seconds >= pool_of(name, job).boot_minutes * 60 * 1.5


@each_job
def test_a2_a_lost_node_uses_no_retry_of_another_pod(name: str, job: Manifest) -> None:
    """workloads.md A.2: each lost node used one or two of six retries of every pod, and a run can take two weeks."""
    spec, usage = job.body["spec"], (job.annotations or {})["gpuc.dev/usage"]
    lost, *others = spec["podFailurePolicy"]["rules"]
    assert lost == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    if not pool_of(name, job).has_efa:
        assert spec["backoffLimit"] == 3 and not others
        return
    assert "backoffLimit" not in spec
    assert spec["backoffLimitPerIndex"] == 3 and spec["maxFailedIndexes"] == 0
    assert spec["completionMode"] == "Indexed" and pod_of(job)["restartPolicy"] == "Never"
    actions = {tuple(rule["onExitCodes"]["values"]): rule["action"] for rule in others}
    assert actions == {(STOPPED_CODE,): "Ignore", (NO_PROGRESS_CODE,): "FailJob"}
    assert "fails 9 times in succession" in usage and "is replaced 3 times" in usage
    (container,) = pod_of(job)["containers"]
    python, option, text, progress_seconds, torchrun, *_ = container["command"]
    assert (python, option, text, torchrun) == ("python3", "-c", program(), "torchrun")
    runs = pool_of(name, job).spec.runs
    assert runs is not None and runs.checkpoint_every is not None
    assert int(progress_seconds) == pods_ready_minutes(example(name)) * 60 + runs.checkpoint_every


@each_job
def test_a2_the_ranks_of_a_deleted_pod_have_the_grace_period_for_a_checkpoint(name: str, job: Manifest) -> None:
    """After SIGTERM, torchrun killed the ranks after 30 seconds; the grace period is one checkpoint interval."""
    if pool_of(name, job).has_efa:
        (container,) = pod_of(job)["containers"]
        (variable,) = container["env"]
        assert variable["name"] == "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
        assert pod_of(job)["terminationGracePeriodSeconds"] - 30 <= int(variable["value"])
        assert int(variable["value"]) < pod_of(job)["terminationGracePeriodSeconds"]


@each_template
def test_c1_an_mps_client_keeps_the_shared_memory_of_the_mps_server(name: str, job: Manifest) -> None:
    """Finding C1: a volume at /dev/shm hid the MPS server. C17: all clients of a GPU need the same user."""
    pool, pod = pool_of(name, job), pod_of(job)
    if uses_mps(pool):
        assert "volumes" not in pod and all("volumeMounts" not in container for container in pod["containers"])
        assert pool.spec.sharing and pool.spec.sharing.mps
        assert pod["securityContext"]["runAsUser"] == pool.spec.sharing.mps.user


def test_c17_the_user_of_mps_clients_is_that_of_the_spec(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["pools"]["embed-l40s"]["sharing"]["mps"].update(user=4711))
    (deployment,) = (
        manifest
        for manifest in workloads(cluster)
        if isinstance(manifest, Manifest) and manifest.kind == "Deployment" and manifest.name == "embed-l40s"
    )
    assert pod_of(deployment)["securityContext"]["runAsUser"] == 4711


@each_template
def test_c1_the_command_opens_a_cuda_context(name: str, job: Manifest) -> None:
    """Finding C1: nvidia-smi -L opens no context, so it succeeded on a pool whose GPUs no pod could use."""
    (container,) = pod_of(job)["containers"]
    pool = pool_of(name, job)
    if pool.is_gpu and not (pool.has_efa and job.kind == "Job"):
        assert "cuDevicePrimaryCtxRetain" in container["command"][2]
        compile(container["command"][2], job.name, "exec")
    assert "$(" not in "".join(container["command"]).replace("$(JOB_COMPLETION_INDEX)", "")
