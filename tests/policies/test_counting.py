"""The emitted constraints of prod-use1: a quota counts every GPU, and MPS clients can reach their server."""

import re
from typing import Any

import pytest

from gpuc.model import Cluster
from gpuc.policy.library import policies
from tests.conftest import example

from .kubernetes_cel import Object, Review, denials
from .test_constraints import constraints, parameters

MEMBER = "member"
JOBS = "system:serviceaccount:kube-system:job-controller"
REPLICAS = "system:serviceaccount:kube-system:replicaset-controller"
KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
GATE: dict[str, Any] = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
MIG = "nvidia.com/mig-3g.40gb"


@pytest.fixture
def infer() -> Cluster:
    return example("infer-euw1")


def pod(namespace: str, pool: str, resource: str = "nvidia.com/gpu", **more: Any) -> Object:
    requests = {"cpu": "8", "memory": "64Gi"}
    container: Object = {"name": "main", "image": "registry.example.com/x:1"}
    container |= {"resources": {"requests": requests, "limits": {resource: "1"}}}
    spec: Object = {"nodeSelector": {"gpuc.dev/pool": pool}, "containers": [container], **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": namespace}, "spec": spec}


def deployment(made: Object, **labels: str) -> Object:
    metadata = made["metadata"] | {"labels": labels}
    spec = {"replicas": 40, "template": {"spec": made["spec"]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def refusal(cluster: Cluster, constraint: str, made: Object, user: str = MEMBER, before: Object | None = None) -> str:
    """Returns the message of the constraint; empty if the constraint allows the object."""
    (kind,) = (found.kind for found in constraints(cluster) if found.name == constraint)
    policy = next(policy for policy in policies().values() if policy.kind == kind)
    request = {"operation": "UPDATE" if before else "CREATE", "userInfo": {"username": user}}
    found = denials(
        policy.variables, policy.validations, parameters(cluster, constraint), Review(made, before, request)
    )
    return next(iter(found.values()), "")


def test_c4_a_bare_pod_gets_no_gpu_that_kueue_counts(prod: Cluster) -> None:
    bare = pod("research-train", "train-h100")
    assert "no quota counts the GPUs" in refusal(prod, "gpu-quota-research", bare)
    assert "no quota counts the GPUs" in refusal(prod, "gpu-quota-research", bare, REPLICAS)
    assert refusal(prod, "gpu-quota-research", bare, JOBS) == ""


def test_c4_a_forged_owner_and_the_labels_of_kueue_do_not_count(prod: Cluster) -> None:
    forged = pod("research-train", "train-h100")
    owner: Object = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "1", "controller": True}
    forged["metadata"] |= {"labels": {"kueue.x-k8s.io/managed": "true"}, "ownerReferences": [owner]}
    assert refusal(prod, "gpu-quota-research", forged)
    job: Object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x", "namespace": "research-train"}}
    owner |= {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    job["metadata"] |= {"ownerReferences": [owner]}
    assert "label kueue.x-k8s.io/queue-name is missing" in refusal(prod, "queue-required-research", job)
    creator = "system:serviceaccount:jobset-system:jobset-controller"
    assert refusal(prod, "queue-required-research", job, creator) == ""


def test_c4_only_kueue_removes_its_gate(prod: Cluster) -> None:
    gated, started = pod("research-train", "train-h100", **GATE), pod("research-train", "train-h100")
    assert refusal(prod, "gpu-quota-research", gated) == ""
    assert "only Kueue removes" in refusal(prod, "gpu-quota-research", started, MEMBER, gated)
    assert "only Kueue removes" in refusal(prod, "gpu-quota-research", started, KUEUE, gated), "without an admission"
    started["metadata"]["labels"] = {"kueue.x-k8s.io/podset": "main"}
    assert refusal(prod, "gpu-quota-research", started, KUEUE, gated) == ""
    gated["metadata"]["labels"] = {"kueue.x-k8s.io/podset": "main"}
    assert "only Kueue removes" in refusal(prod, "gpu-quota-research", started, KUEUE, gated), "a label of a member"


def test_c4_a_pool_that_a_quota_counts_serves_only_namespaces_with_quota(prod: Cluster) -> None:
    served, stray = pod("search-serving", "serve-a100", MIG), pod("search-train", "serve-a100", MIG)
    assert refusal(prod, "gpu-quota-search", served, REPLICAS) == ""
    assert refusal(prod, "gpu-quota-search", stray, REPLICAS)
    assert refusal(prod, "queue-required-search", deployment(served)) == ""
    assert "does not manage the kind Deployment" in refusal(prod, "queue-required-search", deployment(stray))
    assert refusal(prod, "gpu-quota-search", pod("search-serving", "serve-a100"), REPLICAS), "a resource of other pools"


def test_c4_a_deployment_on_a_pool_that_kueue_counts_needs_a_queue(infer: Cluster) -> None:
    served = pod("assistants-serving", "models-a100", "nvidia.com/mig-3g.20gb")
    required = "queue-required-assistants"
    assert "is missing" in refusal(infer, required, deployment(served))
    queued = {"kueue.x-k8s.io/queue-name": "assistants"}
    assert refusal(infer, required, deployment(served, **queued)) == ""
    foreign = {"kueue.x-k8s.io/queue-name": "retrieval"}
    assert "is retrieval" in refusal(infer, required, deployment(served, **foreign))


def test_c4_a_pod_without_a_gpu_needs_no_queue(prod: Cluster) -> None:
    plain = pod("research-lab", "general", "cpu")
    assert refusal(prod, "gpu-quota-research", plain) == refusal(prod, "queue-required-research", plain) == ""
    assert refusal(prod, "queue-required-research", deployment(plain)) == ""


def test_c1_a_volume_does_not_hide_the_mps_server(prod: Cluster) -> None:
    client = pod("embeddings", "embed-l40s", "nvidia.com/gpu.shared", securityContext={"runAsUser": 1000})
    assert refusal(prod, "mps-clients-platform-ml", client) == ""
    client["spec"]["containers"][0]["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
    assert "hides the MPS server" in refusal(prod, "mps-clients-platform-ml", client)


@pytest.mark.parametrize("context", [{}, {"runAsUser": 1001}, {"runAsUser": 0}])
def test_c17_all_mps_clients_have_the_user_of_the_pool(prod: Cluster, context: Object) -> None:
    client = pod("embeddings", "embed-l40s", "nvidia.com/gpu.shared", securityContext=context)
    assert "set securityContext.runAsUser to 1000" in refusal(prod, "mps-clients-platform-ml", client)


def test_c22_default_requests_of_the_limit_range_are_refused(prod: Cluster) -> None:
    defaulted = pod("research-train", "train-h100")
    assert refusal(prod, "gpu-requests", defaulted) == ""
    text = "LimitRanger plugin set: cpu, ephemeral-storage, memory request for container main"
    defaulted["metadata"]["annotations"] = {"kubernetes.io/limit-ranger": text}
    assert "containers main have a GPU but no requests" in refusal(prod, "gpu-requests", defaulted)


def test_policies_that_read_the_user_do_not_check_expanded_pods(prod: Cluster) -> None:
    sources = {found.name: found.body["spec"]["match"].get("source") for found in constraints(prod)}
    assert {sources["gpu-quota-search"], sources["queue-required-search"]} == {"Original"}
    assert sources["mps-clients-search"] is None


def test_the_counting_policies_deny_in_all_examples(prod: Cluster, infer: Cluster) -> None:
    for cluster in (prod, infer):
        assert {cluster.policy_stage(name) for name in ("gpu-quota", "queue-required", "mps-clients")} == {"deny"}


def test_c4_members_create_no_pod_groups(infer: Cluster) -> None:
    """Kueue counts a group by the shape of one pod; an annotation that a member can write selects the pod."""
    grouped = pod("assistants-serving", "models-a100", **GATE)
    grouped["metadata"]["labels"] = {"kueue.x-k8s.io/pod-group-name": "group"}
    assert "only controllers create pod groups" in refusal(infer, "owned-workloads", grouped)
    assert refusal(infer, "owned-workloads", grouped, KUEUE) == ""


def test_c4_only_kueue_resumes_a_job(prod: Cluster) -> None:
    metadata = {"name": "x", "namespace": "research-train", "labels": {"kueue.x-k8s.io/queue-name": "research"}}
    before: Object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"suspend": True}}
    after = before | {"spec": {"suspend": False}}
    assert "only Kueue resumes" in refusal(prod, "queue-required-research", after, MEMBER, before)
    assert refusal(prod, "queue-required-research", after, KUEUE, before) == ""


def test_c4_a_deleted_pod_of_a_job_is_not_replaced_before_its_gpus_are_free(prod: Cluster) -> None:
    template = {"spec": pod("research-train", "train-h100")["spec"]}
    job: Object = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}
    job["metadata"] = {"name": "x", "namespace": "research-train", "labels": {"kueue.x-k8s.io/queue-name": "research"}}
    required = "queue-required-research"
    assert "add podReplacementPolicy: Failed" in refusal(prod, required, job)
    job["spec"]["podReplacementPolicy"] = "TerminatingOrFailed"
    assert "add podReplacementPolicy: Failed" in refusal(prod, required, job)
    careful = job | {"spec": job["spec"] | {"podReplacementPolicy": "Failed"}}
    assert refusal(prod, required, careful) == ""
    assert "add podReplacementPolicy: Failed" in refusal(prod, required, job, MEMBER, careful), "an update"
    replicated = {"replicatedJobs": [{"name": "workers", "template": {"spec": job["spec"]}}]}
    job_set = job | {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": replicated}
    assert "add podReplacementPolicy: Failed" in refusal(prod, required, job_set)


def test_a_list_of_an_expression_has_elements_of_one_type() -> None:
    """The API server refuses a list of a text and a parameter, because it types parameters as dyn; gator accepts it."""
    mixed = re.compile(r'\[\s*(?:"[^"]*"\s*,[^\]]*variables\.|variables\.[^\]]*,\s*")')
    for name, policy in policies().items():
        texts = [*policy.variables.values(), *(row["expression"] for row in policy.validations)]
        assert not [text for text in texts if mixed.search(text)], name


POOL_TAINT: dict[str, Any] = {"tolerations": [{"key": "gpuc.dev/pool", "operator": "Equal", "value": "general"}]}


def test_a_pod_on_a_pool_without_gpus_that_kueue_counts_needs_a_queue(prod: Cluster) -> None:
    """S6 of the second review: a Deployment took the whole pool, and Kueue admitted Jobs to nodes that cannot exist."""
    made = pod("research-lab", "general", "cpu", **POOL_TAINT)
    for user in (MEMBER, REPLICAS, "system:serviceaccount:kube-system:daemon-set-controller"):
        assert "tolerates gpuc.dev/pool=general" in refusal(prod, "gpu-quota-research", made, user)
    assert refusal(prod, "gpu-quota-research", made, JOBS) == ""
    assert refusal(prod, "gpu-quota-research", pod("research-lab", "general", "cpu", **POOL_TAINT, **GATE)) == ""
    for kind in ("Deployment", "StatefulSet"):
        service = deployment(made) | {"kind": kind}
        assert "Kueue does not manage the kind" in refusal(prod, "queue-required-research", service)


def test_a_member_adds_no_toleration_of_a_pool_to_a_pod(prod: Cluster) -> None:
    before, after = pod("research-lab", "general", "cpu"), pod("research-lab", "general", "cpu", **POOL_TAINT)
    assert "no quota counts" in refusal(prod, "gpu-quota-research", after, MEMBER, before)
    assert refusal(prod, "gpu-quota-research", after, KUEUE, before) == ""
    assert refusal(prod, "gpu-quota-research", after, MEMBER, after) == "", "a pod that had the toleration before"
