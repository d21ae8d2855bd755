"""Facts of two objects that decide together: groups of pods, AdmissionChecks, topologies, limits and shared volumes."""

from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.manifest.manifest import Manifest
from gpuc.trace import Step, TraceResult
from tests.trace.test_nodes import (
    G6,
    G6_48,
    HOST,
    LABELS,
    QUEUE,
    ZONE,
    ZONES,
    anti,
    even,
    job,
    need,
    other,
    pod,
    pool,
    result,
    step,
)

API = "kueue.x-k8s.io/v1beta2"
FLAVOR = other(API, "ResourceFlavor", "gpu", {"spec": {}})
LOCAL = other(API, "LocalQueue", "main", {"spec": {"clusterQueue": "main"}}, "default")
SPACE = other("v1", "Namespace", "default", {})
INDEX = "batch.kubernetes.io/job-completion-index"


def cluster_queue(gpus: int = 64, **more: Any) -> Manifest:
    amounts = {"cpu": "1000", "memory": "1000Gi", "nvidia.com/gpu": gpus}
    rows = [{"name": name, "nominalQuota": amount} for name, amount in amounts.items()]
    groups = [{"coveredResources": list(amounts), "flavors": [{"name": "gpu", "resources": rows}]}]
    body = {"spec": {"namespaceSelector": {}, "resourceGroups": groups, **more}}
    return other(API, "ClusterQueue", "main", body)


def queued(work: Manifest, *objects: Manifest, **more: Any) -> TraceResult:
    given = {manifest.kind for manifest in objects}
    base = [row for row in (cluster_queue(**more), FLAVOR, LOCAL, SPACE) if row.kind not in given]
    pools = [] if "NodePool" in given else [pool("gpu", G6_48)]
    return result(replace(work, labels={QUEUE: "main"}), *base, *pools, *objects)


def undecided(found: TraceResult) -> Step | None:
    """The first failed or unknown step."""
    return next((row for row in found.steps if row.verdict in ("failed", "unknown")), None)


@pytest.mark.parametrize(("total", "verdict"), [("1", "admitted"), ("3", "not judged")])
def test_kueue_admits_a_group_of_pods_together(total: str, verdict: str) -> None:
    work = other("v1", "Pod", "a", {"spec": {"restartPolicy": "Never", **pod(1)}}, "default")
    notes = {"kueue.x-k8s.io/pod-group-total-count": total}
    labels = {QUEUE: "main", "kueue.x-k8s.io/pod-group-name": "g"}
    found = result(
        replace(work, labels=labels, annotations=notes), cluster_queue(), FLAVOR, LOCAL, SPACE, pool("gpu", G6_48)
    )
    assert found.verdict == verdict, found.steps[-1]


def check(controller: str, **parameters: str) -> Manifest:
    named = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", **parameters}
    spec = {"controllerName": controller, **({"parameters": named} if parameters else {})}
    return other(API, "AdmissionCheck", "c", {"spec": spec})


PROVISIONING = "kueue.x-k8s.io/provisioning-request"


@pytest.mark.parametrize(
    ("row", "flavors", "verdict"),
    [
        (check("example.com/licence"), [], "unknown"),
        (check("example.com/licence"), ["gpu"], "unknown"),
        (check("example.com/licence"), ["other"], None),
        (check(PROVISIONING), [], "failed"),
        (check(PROVISIONING, name="absent"), [], "failed"),
        (check(PROVISIONING, name="config"), [], "unknown"),
    ],
)
def test_an_admission_check_decides(row: Manifest, flavors: list[str], verdict: str | None) -> None:
    config = other(API, "ProvisioningRequestConfig", "config", {"spec": {}})
    checks = {"admissionChecks": [{"name": "c", "onFlavors": flavors}]}
    found = undecided(queued(job(pod(1)), row, config, admissionChecksStrategy=checks))
    assert (found.verdict if found else None) == verdict


@pytest.mark.parametrize(("above", "verdict"), [("left", "failed"), ("", None)])
def test_cohorts_in_a_cycle(above: str, verdict: str | None) -> None:
    cohorts = [other(API, "Cohort", "left", {"spec": {"parentName": "right"}}),
               other(API, "Cohort", "right", {"spec": {"parentName": above}})]  # fmt: skip
    found = undecided(queued(job(pod(1)), *cohorts, cohortName="left"))
    assert (found.verdict if found else None) == verdict
    assert found is None or found.path == ("spec", "cohortName")


@pytest.mark.parametrize(
    ("gpus", "rules", "count", "verdict"),
    [
        (1, anti(HOST), 2, "unknown"),
        (8, anti(HOST), 2, "passed"),
        (1, anti(HOST), 1, "passed"),
        (1, anti(HOST, {"app": "b"}), 2, "passed"),
        (1, {"ports": [{"containerPort": 80, "hostPort": 80}]}, 2, "unknown"),
        (8, {"ports": [{"containerPort": 80, "hostPort": 80}]}, 2, "passed"),
    ],
)
def test_kueue_assigns_nodes_without_the_rules_between_pods(
    gpus: int, rules: dict[str, Any], count: int, verdict: str
) -> None:
    levels = {"spec": {"levels": [{"nodeLabel": ZONE}, {"nodeLabel": HOST}]}}
    flavor = other(API, "ResourceFlavor", "gpu", {"spec": {"topologyName": "t", "nodeLabels": {"example.com/a": "b"}}})
    nodes = pool("gpu", G6_48, need(ZONE, "In", "us-east-1a"), labels={"example.com/a": "b"}, replicas=2)
    work = job(pod(gpus, **rules), count)
    note = {"kueue.x-k8s.io/podset-required-topology": ZONE}
    work.body["spec"]["template"]["metadata"] = {"labels": LABELS, "annotations": note}
    found = queued(work, flavor, nodes, other(API, "Topology", "t", levels))
    assert [row.verdict for row in found.steps if row.stage.value == "topology"] == [verdict]


@pytest.mark.parametrize(
    ("rule", "keys", "verdict"),
    [
        (even(ZONE, minDomains=3), [INDEX], "unknown"),
        (even(ZONE, minDomains=3), ["pod-template-hash"], "failed"),
        (even(ZONE), ["pod-template-hash"], "passed"),
        (even(ZONE, labelSelector={"matchLabels": {"app": "b"}}), [INDEX], "passed"),
    ],
)
def test_a_rule_selects_pods_with_the_same_value_of_a_label(
    rule: dict[str, Any], keys: list[str], verdict: str
) -> None:
    rule["topologySpreadConstraints"][0]["matchLabelKeys"] = keys
    assert step(job(pod(1, **rule), 3), pool("gpu", G6_48, ZONES)).verdict == verdict


@pytest.mark.parametrize(
    ("memory", "verdict"), [("14Gi", "failed"), ("15Gi", "unknown"), ("16Gi", "passed"), ("30Gi", "passed")]
)
def test_karpenter_counts_less_memory_than_the_machine_has(memory: str, verdict: str) -> None:
    """A g6.xlarge has 16 GiB, of which Karpenter expects 92.5 %."""
    assert step(job(pod(1)), pool("gpu", G6, limits={"memory": memory})).verdict == verdict


def test_nodes_that_fit_into_a_limit_of_memory_by_what_karpenter_counts() -> None:
    limits = {"limits": {"memory": "30Gi"}}
    assert step(job(pod(1), 2), pool("gpu", G6, **limits)).verdict == "passed"
    assert step(job(pod(1), 3), pool("gpu", G6, **limits)).verdict == "failed"


@pytest.mark.parametrize(
    ("gpus", "nodes", "verdict"), [(64, "2", "admitted"), (64, "1", "not judged"), (8, "1", "admitted")]
)
def test_a_job_with_fewer_pods_only_if_the_quota_is_too_small(gpus: int, nodes: str, verdict: str) -> None:
    work = replace(job(pod(8), 2), annotations={"kueue.x-k8s.io/job-min-parallelism": "1"})
    assert queued(work, pool("gpu", G6_48, limits={"nodes": nodes}), gpus=gpus).verdict == verdict


def claim(mode: str, **more: Any) -> Manifest:
    return other("v1", "PersistentVolumeClaim", "data", {"spec": {"accessModes": [mode], **more}}, "default")


VOLUME: dict[str, Any] = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


@pytest.mark.parametrize(
    ("mode", "rules", "count", "verdict"),
    [
        ("ReadWriteOncePod", {}, 2, "failed"),
        ("ReadWriteOncePod", {}, 1, "passed"),
        ("ReadWriteMany", {}, 2, "passed"),
        ("ReadWriteMany", anti(ZONE), 2, "passed"),
        ("ReadWriteOnce", anti(ZONE), 2, "unknown"),
        ("ReadWriteOnce", anti(ZONE), 1, "passed"),
        ("ReadWriteOnce", {}, 2, "passed"),
    ],
)
def test_pods_that_share_a_volume(mode: str, rules: dict[str, Any], count: int, verdict: str) -> None:
    found = step(job(pod(1, **VOLUME, **rules), count), pool("gpu", G6_48, ZONES), claim(mode))
    assert found.verdict == verdict, found.message


def test_pods_of_a_spread_whose_volume_is_in_one_zone() -> None:
    term = {"matchExpressions": [need(ZONE, "In", "us-east-1a")]}
    volume = {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}
    objects = [claim("ReadWriteMany", volumeName="pv"), other("v1", "PersistentVolume", "pv", volume)]
    nodes = pool("gpu", G6_48, ZONES)
    assert step(job(pod(1, **VOLUME, **even(ZONE)), 2), nodes, *objects).verdict == "unknown"
    assert step(job(pod(1, **VOLUME), 2), nodes, *objects).verdict == "passed"


@pytest.mark.parametrize(
    ("resources", "limit", "fix"),
    [
        ({"requests": {"cpu": "4"}}, {"default": {"cpu": "2"}}, "request at most 2 cpu, or write limits"),
        ({"requests": {"cpu": "2"}}, {"max": {"cpu": "1"}}, "request at most 1 cpu, or write limits"),
        ({"limits": {"cpu": "1"}}, {"defaultRequest": {"cpu": "2"}}, "write requests of cpu for the container"),
    ],
)
def test_a_limit_range_and_the_resources_of_the_pods(
    resources: dict[str, Any], limit: dict[str, Any], fix: str
) -> None:
    spec = {"containers": [{"name": "a", "image": "b", "resources": resources}]}
    limits = other("v1", "LimitRange", "l", {"spec": {"limits": [{"type": "Container", **limit}]}}, "default")
    found = queued(job(spec), limits).failure
    assert found is not None and found.fix == fix, found
    assert ("default limits" in found.reason) == ("requests" in resources)


def test_requirements_of_a_node_pool_that_exclude_each_other() -> None:
    found = step(job(pod(1)), pool("gpu", G6_48, need("instance-gpu-count", "Gt", "8")))
    assert (found.verdict, found.message) == (
        "failed", "the requirements of node pool gpu exclude all instance types",
    )  # fmt: skip
