"""`gpuc trace` judges the node selection of a workload, and names the field and the object that conflict."""

from typing import Any

import pytest

from gpuc.diagnostics.report.printer import printed
from gpuc.trace import workload_of
from gpuc.trace.report import Traced, blocks
from tests.trace.conftest import Traced as TracedFile
from tests.trace.test_nodes import (
    AWS,
    G6,
    G6_48,
    HOST,
    KUEUE,
    QUEUE,
    TWO,
    ZONE,
    ZONES,
    anti,
    need,
    other,
    pod,
    pool,
    result,
    step,
)
from tests.trace.test_nodes import job as small_job
from tests.trace.test_whole_way import POD, failures, job

CPU, MEMORY = "karpenter.k8s.aws/instance-cpu", "karpenter.k8s.aws/instance-memory"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = ("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")


def with_terms(*terms: dict[str, Any]) -> Any:
    return job(**{f"{POD}affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}})


def job_set(annotations: dict[str, str], of_job: dict[str, str], replicas: int, pods: int) -> Any:
    """Returns a JobSet that starts without the annotations."""
    spec = {**job()["spec"], "parallelism": pods, "completions": pods}
    template = {"metadata": {"annotations": of_job}, "spec": spec}
    labels = {QUEUE: "data-cpu"}
    metadata = {"name": "run", "namespace": "foundation-train", "labels": labels, "annotations": annotations}
    jobs = {"replicatedJobs": [{"name": "w", "replicas": replicas, "template": template}]}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": jobs}


def test_the_deadline_of_each_job_of_a_jobset_counts(traced: TracedFile) -> None:
    document = job_set({}, {}, 1, 1)
    document["spec"]["replicatedJobs"][0]["template"]["spec"]["activeDeadlineSeconds"] = 0
    code, found = traced(document, where="train-usw2")
    field = "spec.replicatedJobs.0.template.spec.activeDeadlineSeconds"
    assert (code, failures(found)) == (1, [("suspend", field)])


EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"


@pytest.mark.share(5)
@pytest.mark.parametrize("is_of_job", [True, False])
@pytest.mark.parametrize(
    ("annotations", "replicas", "pods", "code"),
    [
        ({}, 2, 2, 0),
        ({EXCLUSIVE: ZONE}, 1, 2, 0),
        ({EXCLUSIVE: ZONE}, 2, 1, 4),
        ({EXCLUSIVE: HOST}, 1, 1, 0),
        ({EXCLUSIVE: HOST}, 1, 2, 4),
        ({EXCLUSIVE: "example.com/rack"}, 1, 1, 4),
        ({EXCLUSIVE: ZONE, NODE_SELECTOR: "true"}, 1, 1, 4),
    ],
)
def test_c27_exclusive_placement_of_several_jobs_is_not_judged(
    annotations: dict[str, str], replicas: int, pods: int, code: int, is_of_job: bool, traced: TracedFile
) -> None:
    document = job_set({}, annotations, replicas, pods) if is_of_job else job_set(annotations, {}, replicas, pods)
    found_code, found = traced(document, where="train-usw2")
    assert found_code == code, found["steps"][-1]
    if code:
        step = next(step for step in found["steps"] if step["verdict"] == "unknown")
        assert "exclusive placement" in step["message"]
        place = ["spec", "replicatedJobs", 0, "template"] if is_of_job else []
        assert step["field"] == [*place, "metadata", "annotations", EXCLUSIVE]


def compare(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.share(4)
@pytest.mark.parametrize("value", ["32Gi", "x", "1.5"])
@pytest.mark.parametrize("operator", ["Gt", "Lt"])
@pytest.mark.parametrize("other", [[], [compare(CPU, "Gt", "1")]])
def test_c27_a_comparison_with_text_matches_no_node(
    value: str, operator: str, other: list[Any], traced: TracedFile
) -> None:
    code, found = traced(with_terms(compare(MEMORY, operator, value), *other))
    step = found["steps"][-1]
    assert (code, found["verdict"], step["stage"]) == (1, "pending", "node pool")
    assert f"{MEMORY} with {operator} {value}, which is not an integer" in step["message"]
    assert step["fix"] == "write one integer without a unit"
    where = ["spec", "template", "spec", *TERMS, 0, "matchExpressions", 0, "values"]
    assert step["field"] == where


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("kubernetes.io/hostname", 1),
        ("karpenter.sh/initialized", 1),
        ("karpenter.k8s.aws/ec2nodeclass", 1),
        ("karpenter.sh/nodepool", 0),
        ("karpenter.k8s.aws/instance-family", 0),
        ("example.com/rack", 0),
    ],
)
def test_c27_karpenter_ignores_pods_with_restricted_labels(key: str, code: int, traced: TracedFile) -> None:
    avoid = {"matchExpressions": [{"key": key, "operator": "NotIn", "values": ["x"]}]}
    found_code, found = traced(with_terms(avoid))
    assert found_code == code, found["steps"][-1]
    if code:
        assert found["steps"][-1]["fix"] == f"do not select nodes by {key}"


def test_c27_an_empty_term_matches_no_node(traced: TracedFile) -> None:
    code, found = traced(with_terms({}))
    assert (code, failures(found)[0][0]) == (1, "node pool")
    code, _ = traced(with_terms({}, compare(CPU, "Gt", "1")))
    assert code == 0


def test_c27_a_preference_with_text_is_not_judged(traced: TracedFile) -> None:
    preferred = [{"weight": 1, "preference": compare(MEMORY, "Gt", "32Gi")}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    code, found = traced(job(**{f"{POD}affinity": affinity}))
    assert (code, found["verdict"]) == (4, "not judged")
    assert "not an integer" in found["notJudged"][0]


@pytest.mark.parametrize(
    ("zones", "region", "verdict"),
    [
        (("us-east-1a", "us-east-1b"), "us-east-1", "passed"),
        (("us-east-1a",), "us-west-2", "failed"),
        (("us-gov-west-1a",), "us-gov-west-1", "passed"),
        (("us-west-2-lax-1a",), "us-west-2-lax-1", "unknown"),
        (("us-west-2-lax-1a", "us-west-2b"), "us-west-2", "passed"),
        ((), "us-east-1", "unknown"),
    ],
)
def test_c27_zones_show_the_region(zones: tuple[str, ...], region: str, verdict: str) -> None:
    selected = small_job(pod(1, nodeSelector={"topology.kubernetes.io/region": region}))
    requirements = [G6, *([need(ZONE, "In", *zones)] if zones else [])]
    found = step(selected, pool("gpu", *requirements), is_complete=True)
    assert found.verdict == verdict, found.message
    if verdict == "failed":
        assert (found.field[-1], found.path[-2:]) == ("topology.kubernetes.io/region", ("requirements", 1))


def test_c27_another_pool_of_the_cluster_shows_the_region() -> None:
    selected = small_job(pod(1, nodeSelector={"topology.kubernetes.io/region": "us-west-2"}))
    assert step(selected, pool("gpu", G6), pool("other", G6_48, ZONES), is_complete=True).verdict == "failed"


def test_c27_a_taint_has_a_fix_with_all_missing_tolerations() -> None:
    taints = [
        {"key": "gpuc.dev/mode", "value": "mig", "effect": "NoSchedule"},
        {"key": "example.com/spot", "effect": "NoExecute"},
        {"key": "example.com/rather-not", "effect": "PreferNoSchedule"},
        {"key": "example.com/known", "effect": "NoSchedule"},
    ]
    spec = pod(1, tolerations=[{"key": "example.com/known", "operator": "Exists"}])
    found = step(small_job(spec), pool("gpu", G6, taints=taints), is_complete=True)
    assert found.fix == (
        'add to the tolerations of the pods: {key: gpuc.dev/mode, operator: Equal, value: "mig", effect: NoSchedule}, '
        "{key: example.com/spot, operator: Exists, effect: NoExecute}"
    )
    flavor = other("kueue.x-k8s.io/v1beta2", "ResourceFlavor", "h100", {"spec": {"nodeTaints": taints}})
    steps = result(small_job(spec, labels={QUEUE: "main"}), *KUEUE, flavor, is_complete=True).steps
    assert (steps[-1].stage.value, steps[-1].fix) == ("flavor", found.fix)


REQUIREMENTS = ("spec", "template", "spec", "requirements")
TEMPLATE_LABELS = ("spec", "template", "metadata", "labels")


@pytest.mark.parametrize(
    ("key", "operator", "value", "path"),
    [
        (ZONE, "In", "us-east-1c", (*REQUIREMENTS, 1)),
        ("team", "In", "b", (*TEMPLATE_LABELS, "team")),
        ("rack", "In", "7", TEMPLATE_LABELS),
        (f"{AWS}instance-cpu", "Gt", "4", REQUIREMENTS),
        ("karpenter.sh/nodepool", "In", "other", ("metadata", "name")),
    ],
)
@pytest.mark.parametrize("is_affinity", [True, False])
def test_c27_a_conflict_names_the_field_of_the_workload_and_of_the_pool(
    key: str, operator: str, value: str, path: tuple[str | int, ...], is_affinity: bool
) -> None:
    spec, field = {"nodeSelector": {key: value}}, ("nodeSelector", key)
    if is_affinity or operator == "Gt":
        kind = "requiredDuringSchedulingIgnoredDuringExecution"
        term = {"matchExpressions": [need(ZONE, "Exists"), need(key, operator, value)]}
        spec = {"affinity": {"nodeAffinity": {kind: {"nodeSelectorTerms": [term]}}}}
        field = ("affinity", "nodeAffinity", kind, "nodeSelectorTerms", 0, "matchExpressions", 1)
    found = step(small_job(pod(1, **spec)), pool("gpu", G6, ZONES, labels={"team": "a"}), is_complete=True)
    assert found.verdict == "failed"
    assert (found.path, found.field) == (path, ("spec", "template", "spec", *field))


def test_c27_the_object_of_a_conflict_can_be_the_node_class() -> None:
    node_class = other("karpenter.k8s.aws/v1", "EC2NodeClass", "default", {"spec": {}})
    selected = small_job(pod(1, nodeSelector={"karpenter.sh/capacity-type": "reserved"}))
    both = need("karpenter.sh/capacity-type", "In", "reserved", "on-demand")
    found = step(selected, pool("gpu", G6, both), node_class, is_complete=True)
    assert (found.verdict, found.manifest, found.path) == ("failed", node_class, ("spec",))
    assert found.fix == "in the node selector, set karpenter.sh/capacity-type to on-demand"


@pytest.mark.parametrize(
    ("spec", "count", "more", "reason"),
    [
        (pod(1), 17, TWO, "The limits of the node pools are too low for the pods."),
        (pod(1, **anti(HOST)), 3, TWO, "The limits of the node pools are too low for the pods."),
        (pod(1, **anti(ZONE)), 3, {}, "A rule between the pods allows fewer pods."),
        (pod(1, nodeSelector={f"{AWS}instance-cpu": "7"}), 1, {}, "No instance type of the node pools matches"),
        (pod(9), 1, {}, "Karpenter can start no node with enough resources for the pods."),
    ],
)
def test_c27_the_result_names_the_cause(spec: dict[str, Any], count: int, more: dict[str, Any], reason: str) -> None:
    work = small_job(spec, count)
    workload = workload_of(work)
    assert workload is not None
    found = result(work, pool("gpu", G6_48, ZONES, **more), is_complete=True)
    text = printed(blocks([Traced(workload, found)], lambda manifest, path: None))
    assert reason in text.splitlines()[-1]
