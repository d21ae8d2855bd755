"""The admission policies of the example clusters, with the requests that Kubernetes and Gatekeeper would get."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from gpuc.admission.policies import Policies
from gpuc.admission.request import Decision, Request
from gpuc.documents.reader import load_all_yaml
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig
from gpuc.policy.library import VERDICTS, policies
from tests.conftest import EXAMPLES, compiled_example

Object = dict[str, Any]
JOBS = "system:serviceaccount:kube-system:job-controller"


@cache
def tree(name: str) -> ObjectSet:
    spec = compiled_example(name)
    return ObjectSet(spec.synced, is_complete=True, values=spec.charts)


@cache
def cluster(name: str) -> Policies:
    return Policies(tree(name))


def decided(request: Request, name: str = "prod-use1") -> list[Decision]:
    return list(cluster(name).decide(request))


def denied(decisions: list[Decision]) -> dict[str, str]:
    return {
        decision.manifest.name: decision.message
        for decision in decisions
        if decision.outcome == "denied" and decision.manifest is not None
    }


def pod(namespace: str = "research-train", **spec: Any) -> Object:
    container = {
        "name": "main",
        "image": "registry.example.com/train:1",
        "resources": {
            "requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": 1},
            "limits": {"nvidia.com/gpu": 1},
        },
        **spec.pop("container", {}),
    }
    body = {"nodeSelector": {"gpuc.dev/pool": "train-h100"}, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "run", "namespace": namespace}, "spec": body}


def job(template: Object, queue: str = "research") -> Object:
    labels = {"labels": {"kueue.x-k8s.io/queue-name": queue}} if queue else {}
    metadata = {"name": "run", "namespace": template["metadata"]["namespace"], **labels}
    spec = {"suspend": True, "podReplacementPolicy": "Failed", "template": {"spec": template["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def test_c27_the_pod_of_the_finding_is_denied() -> None:
    bad = pod(
        hostNetwork=True,
        container={
            "securityContext": {"privileged": True},
            "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
        },
    )
    found = denied(decided(Request(bad, JOBS)))
    assert found == {
        "host-access": "containers main are privileged; remove securityContext.privileged",
        "host-network": "hostNetwork is not allowed for tenants; remove hostNetwork, because NCCL and network devices "
        "work on the pod network",
        "visible-devices": "containers main select devices with environment variables; request GPUs and network "
        "devices under resources.limits",
    }
    implied = denied(decided(Request(job(bad), "alice")))
    assert implied == {name: f"[Implied by gpuc-job] {message}" for name, message in found.items()}


def test_the_same_pod_without_the_faults_is_allowed() -> None:
    for request in (Request(pod(), JOBS), Request(job(pod()), "alice")):
        decisions = decided(request)
        assert len(decisions) >= 16
        assert {decision.outcome for decision in decisions} == {"allowed"}


def test_the_user_of_the_request_decides_about_gpu_quota() -> None:
    assert denied(decided(Request(pod(), JOBS))) == {}
    assert "gpu-quota-research" in denied(decided(Request(pod(), "alice")))


def test_a_job_without_a_queue_is_denied_at_the_parameters_of_the_constraint() -> None:
    (decision,) = [found for found in decided(Request(job(pod(), ""), "alice")) if found.outcome == "denied"]
    assert (decision.check, decision.path) == ("constraint queue-required-research", ("spec", "parameters"))
    assert decision.message.startswith("label kueue.x-k8s.io/queue-name is missing; the queues of namespace")


def test_a_namespace_without_a_tenant_has_no_constraints() -> None:
    bare = pod("kube-system", hostNetwork=True)
    assert decided(Request(bare, "alice")) == []
    assert decided(Request(pod("kueue-system", hostNetwork=True), "alice")) == []


def test_a_namespace_that_the_input_lacks_is_unknown() -> None:
    objects = ObjectSet(tree("prod-use1").manifests, is_complete=False)
    found = list(Policies(objects).decide(Request(pod("elsewhere", hostNetwork=True), "alice")))
    unknown = {decision.manifest.name: decision.message for decision in found if decision.manifest is not None}
    assert {decision.outcome for decision in found} == {"unknown"}
    assert "the labels of namespace elsewhere are unknown" in unknown["host-network"]
    assert "gpu-limits-search" not in unknown, "the constraint allows the pod in any namespace"


def reviewed(document: Object) -> tuple[Request, bool]:
    """Returns the request of an example, and whether the request creates an object. A pod with a node is running."""
    if document["kind"] != "AdmissionReview":
        return Request(document, ""), dig(document, "spec", "nodeName") is None
    review = document["request"]
    user = str(dig(review, "userInfo", "username") or "")
    return Request(review["object"], user), review.get("operation") == "CREATE" and not review.get("oldObject")


@cache
def loaded(name: str, verdict: str) -> list[Object]:
    return load_all_yaml(policies()[name].example_text(verdict))


def decisions(name: str, verdict: str) -> Iterator[Decision]:
    """Yields the decisions about the examples of a policy that create an object."""
    for request, is_new in map(reviewed, loaded(name, verdict)):
        if is_new:
            (decision,) = alone(name).decide(request)
            yield decision


@cache
def alone(name: str) -> Policies:
    """The emitted ConstraintTemplate of a policy with a constraint that has the parameters of the sample."""
    policy = policies()[name]
    template = next(
        found
        for example in EXAMPLES
        for found in tree(example).of("templates.gatekeeper.sh", "ConstraintTemplate")
        if found.name == policy.kind.lower()
    )
    match: Object = {key: value for key, value in policy.match({}).items() if key != "namespaceSelector"}
    spec = {"match": match, **({"parameters": policy.sample} if policy.sample else {})}
    constraint = Manifest("a.yaml", (), "constraints.gatekeeper.sh/v1beta1", policy.kind, name, {"spec": spec})
    documents = [reviewed(document)[0].document for verdict in VERDICTS for document in loaded(name, verdict)]
    names = sorted({document["metadata"]["namespace"] for document in documents})
    namespaces = [Manifest("n.yaml", (), "v1", "Namespace", name, {}) for name in names]
    return Policies(ObjectSet([template, constraint, *namespaces], is_complete=True))


@pytest.mark.parametrize("name", policies())
def test_the_emitted_template_decides_as_the_examples_say(name: str) -> None:
    allowed, denied_ = list(decisions(name, "allowed")), list(decisions(name, "denied"))
    assert {(decision.outcome, decision.message) for decision in allowed} == {("allowed", "")}
    assert {(decision.outcome, decision.check) for decision in denied_} == {("denied", f"constraint {name}")}
    assert all(decision.message for decision in denied_)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_emitted_workload_templates_violate_no_constraint(name: str) -> None:
    kinds = ("Job", "JobSet", "Deployment", "StatefulSet", "LeaderWorkerSet", "CronJob")
    workloads = [manifest for manifest in tree(name).manifests if manifest.kind in kinds and manifest.namespace]
    spec = compiled_example(name)
    workloads += [found for found in spec.artifacts if isinstance(found, Manifest) and "/workloads/" in found.file]
    assert workloads
    for manifest in workloads:
        decisions = decided(Request(manifest.document(), "alice"), name)
        assert denied(decisions) == {}, str(manifest)
        assert all(decision.outcome != "unknown" for decision in decisions)
