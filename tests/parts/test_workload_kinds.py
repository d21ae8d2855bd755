"""Every kind of workloads answers for its sample what the engines ask."""

from functools import cache

import pytest

from gpuc.admission.validation import validation_errors
from gpuc.manifest.manifest import Manifest, manifest_of
from gpuc.objects.object_set import ObjectSet, dig
from gpuc.objects.paths import matching_values, pattern
from gpuc.objects.pods import pods_of
from gpuc.parts.workload_kind import WorkloadKind
from gpuc.parts.workload_kinds import label_prefixes, spec_frameworks, workload_kind, workload_kinds
from gpuc.trace import ClusterIndex, trace_workload, workload_of
from gpuc.trace.created import ephemeral_claims, object_creations, pod_creation, template_claims
from gpuc.trace.tracer import stopped_steps
from gpuc.trace.user_objects import unserved, why_not_traced
from tests.trace.test_counted import index

KUEUE = (
    "batch/job", "deployment", "jobset.x-k8s.io/jobset", "kubeflow.org/jaxjob", "kubeflow.org/mpijob",
    "kubeflow.org/paddlejob", "kubeflow.org/pytorchjob", "kubeflow.org/tfjob", "kubeflow.org/xgboostjob",
    "leaderworkerset.x-k8s.io/leaderworkerset", "pod", "ray.io/raycluster", "ray.io/rayjob", "ray.io/rayservice",
    "sparkoperator.k8s.io/sparkapplication", "statefulset", "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
)  # fmt: skip
"""The frameworks of Kueue. Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs, FrameworkName of every package"""
every_kind = pytest.mark.parametrize("kind", workload_kinds(), ids=lambda kind: kind.name)


@cache
def cluster() -> ClusterIndex:
    return index("prod-use1", policies=False, frameworks=", ".join(spec_frameworks()))


def sample(kind: WorkloadKind) -> Manifest:
    document = kind.sample("research")
    return manifest_of({**document, "metadata": {**document["metadata"], "namespace": "research-train"}})


@every_kind
def test_the_sample_is_an_object_of_the_kind_that_the_api_server_accepts(kind: WorkloadKind) -> None:
    document = kind.sample("research")
    assert [decision for decision in validation_errors(document) if decision.outcome == "denied"] == []


def test_a_kind_has_one_record() -> None:
    assert all(workload_kind(kind.group, kind.kind) is kind for kind in workload_kinds())


@every_kind
def test_the_templates_of_the_sample_are_pods_in_its_queue(kind: WorkloadKind) -> None:
    manifest = sample(kind)
    found = list(pods_of(manifest))
    assert bool(found) == bool(kind.templates)
    assert all(dig(pods.spec, "containers", 0, "image") for pods in found)
    assert not kind.is_traced or {pods.queue for pods in found} == {"research"}


@every_kind
def test_the_labels_of_the_controller_are_known_and_have_its_prefixes(kind: WorkloadKind) -> None:
    for pods in pods_of(sample(kind)):
        assert kind.labels.known.keys() <= pods.labels.keys()
    assert all(key.startswith(kind.labels.prefixes) and key.startswith(label_prefixes()) for key in kind.labels.known)


@every_kind
def test_the_frameworks_are_those_of_kueue(kind: WorkloadKind) -> None:
    created = kind.controller.creates if kind.controller else ()
    assert {*filter(None, (kind.queueing.framework,)), *created} <= {*KUEUE}
    if kind.queueing.place is not None:
        assert spec_frameworks()[kind.queueing.framework] is kind
        assert kind.controller or kind.is_pod
    assert set(KUEUE) == {other.queueing.framework for other in workload_kinds()} - {""}


@every_kind
def test_the_sample_is_traced_or_the_record_has_the_reason(kind: WorkloadKind) -> None:
    manifest = sample(kind)
    workload = workload_of(manifest)
    assert unserved(manifest) is None
    assert (workload is not None) == kind.is_traced
    if workload is None:
        has_reason = bool(kind.traits.why_not_traced) or bool(kind.templates and kind.creates_pods)
        assert bool(why_not_traced(manifest)) == has_reason
        return
    assert workload.queue == "research"
    assert trace_workload(cluster(), workload).steps
    kept = workload.with_labels("research-train", "other", "high").document
    assert workload_of(manifest_of(kept)).queue == "other"  # type: ignore[union-attr]


@every_kind
def test_controllers_create_the_objects_between_the_sample_and_its_pods(kind: WorkloadKind) -> None:
    workload = workload_of(sample(kind))
    if workload is None:
        return
    _, *children = object_creations(workload, (), {})
    for child in children:
        document = child.request.document
        assert kind.child is not None and kind.controller is not None
        assert workload_kind(*kind.child.kind).api == document["apiVersion"]
        assert [decision for decision in validation_errors(document) if decision.outcome == "denied"] == []
    names = {child.request.document["metadata"]["name"] for child in children}
    for pods in workload.pod_sets:
        document = pod_creation(workload, pods, (), gated=False, accounts={}).request.document
        owners = [owner["name"] for owner in document["metadata"].get("ownerReferences", ())]
        assert not names or pods.path == () or {*owners} <= names
        assert [*template_claims(workload, pods), *ephemeral_claims(workload, pods)] == []


@every_kind
def test_gatekeeper_can_expand_the_template(kind: WorkloadKind) -> None:
    assert not kind.traits.is_expanded or (len(kind.templates) == 1 and not {"[", "*"} & {*kind.templates[0]})


@every_kind
def test_the_paths_of_the_record_are_in_the_sample(kind: WorkloadKind) -> None:
    document = kind.sample("research")
    assert all([*matching_values(document, pattern(path))] for path in kind.templates)
    assert not kind.is_traced or isinstance(dig(document, *kind.start.spec), dict)
    assert kind.start.schedule is None or isinstance(dig(document, *kind.start.schedule), str)


@pytest.mark.parametrize("kind", [kind for kind in workload_kinds() if kind.is_traced and kind.start.managers])
def test_the_trace_knows_the_controllers_that_managed_by_can_name(kind: WorkloadKind) -> None:
    for manager in ("example.com/controller", *kind.start.managers):
        document = kind.sample("research")
        dig(document, *kind.start.spec)["managedBy"] = manager
        workload = workload_of(manifest_of(document))
        assert workload is not None
        steps = list(stopped_steps(ObjectSet([], is_complete=True), workload, is_queued=True))
        assert bool(steps) == (manager not in kind.start.managers)
        assert all(dig(document, *step.field) == manager for step in steps)
