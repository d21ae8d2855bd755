"""Nodes of pods in Kubernetes objects that gpuc did not write: which nodes are certain, impossible, or not judged."""

from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.trace import ClusterIndex, Step, TraceResult, trace_workload, workload_of

AWS = "karpenter.k8s.aws/"
QUEUE = "kueue.x-k8s.io/queue-name"
NODE_STAGES = ("node pool", "node", "startup taints")


def need(key: str, operator: str, *values: str, **more: int) -> dict[str, Any]:
    key = f"{AWS}{key}" if key.startswith(("instance-", "capacity-reservation")) else key
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {}), **more}


def pool(name: str = "general", *requirements: dict[str, Any], **spec: Any) -> Manifest:
    labels, taints = spec.pop("labels", {}), spec.pop("taints", [])
    group, kind = spec.pop("node_class", ("karpenter.k8s.aws", "EC2NodeClass"))
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "nodeClassRef": {"group": group, "kind": kind, "name": "default"},
            "requirements": list(requirements),
            "taints": taints,
        },
    }
    return Manifest("a.yaml", (), "karpenter.sh/v1", "NodePool", name, {"spec": {"template": template, **spec}}, "", {})


def other(api: str, kind: str, name: str, body: dict[str, Any], namespace: str = "") -> Manifest:
    return Manifest("a.yaml", (), api, kind, name, body, namespace, {})


def pod(gpus: int = 0, **more: Any) -> dict[str, Any]:
    limits = {"cpu": more.pop("cpu", "1"), "memory": more.pop("memory", "1Gi"), **more.pop("limits", {})}
    limits |= {"nvidia.com/gpu": gpus} if gpus else {}
    ports = more.pop("ports", [])
    return {"containers": [{"name": "a", "image": "b", "resources": {"limits": limits}, "ports": ports}], **more}


LABELS = {"app": "a"}


def job(spec: dict[str, Any], count: int = 1, labels: dict[str, str] | None = None) -> Manifest:
    template = {"metadata": {"labels": LABELS}, "spec": {"restartPolicy": "Never", **spec}}
    body = {"spec": {"parallelism": count, "completions": count, "template": template}}
    return Manifest("w.yaml", (), "batch/v1", "Job", "run", body, "default", labels or {})


def result(work: Manifest, *objects: Manifest, is_complete: bool = False) -> TraceResult:
    workload = workload_of(work)
    assert workload is not None
    return trace_workload(ClusterIndex(ObjectSet(objects, is_complete=is_complete)), workload)


def step(work: Manifest, *objects: Manifest, is_complete: bool = False) -> Step:
    """The failed or unknown step about nodes, else the step with the nodes."""
    steps = [step for step in result(work, *objects, is_complete=is_complete).steps if step.stage.value in NODE_STAGES]
    return next((step for step in steps if step.verdict != "passed"), steps[-1])


CMR = need("instance-category", "In", "c", "m", "r")


def test_lint_defect_1_pools_of_the_categories_c_m_r_have_no_gpu() -> None:
    found = step(job(pod(8)), pool("general", CMR, need("instance-generation", "Gt", "2")))
    assert found.verdict == "failed"
    assert found.message == "no instance type that node pool general allows has nvidia.com/gpu"


@pytest.mark.parametrize(
    ("requirements", "gpus", "types"),
    [
        ([need("instance-category", "In", "p"), need("instance-gpu-name", "In", "h100")], 8, {"p5.48xlarge"}),
        ([need("instance-gpu-memory", "Gt", "80000"), need("instance-family", "In", "p4de", "p4d")], 8,
         {"p4de.24xlarge"}),
        ([need("instance-family", "In", "g6"), need("instance-gpu-count", "Gte", "4")], 4,
         {"g6.12xlarge", "g6.24xlarge", "g6.48xlarge"}),
        ([need("instance-family", "In", "p5", "p5en"), need("instance-cpu-manufacturer", "In", "intel")], 1,
         {"p5en.48xlarge"}),
        ([need("instance-family", "In", "p4d", "p5"), need("instance-network-bandwidth", "Gt", "3000000")], 1,
         {"p5.48xlarge"}),
        ([need("instance-family", "In", "g5"), need("instance-local-nvme", "Lt", "300"),
          need("instance-hypervisor", "In", "nitro")], 1, {"g5.xlarge"}),
        ([need("instance-family", "In", "g4dn"), need("instance-hypervisor", "NotIn", "nitro")], 1, {"g4dn.metal"}),
        ([need("instance-family", "In", "g5g", "g4dn"), need("kubernetes.io/arch", "In", "arm64"),
          need("instance-size", "NotIn", "metal")], 2, {"g5g.16xlarge"}),
        ([need("beta.kubernetes.io/instance-type", "In", "g6.xlarge", "m5.large")], 1, {"g6.xlarge"}),
    ],
)  # fmt: skip
def test_lint_defect_1_requirements_choose_the_instance_types(
    requirements: list[dict[str, Any]], gpus: int, types: set[str]
) -> None:
    found = result(job(pod(gpus)), pool("gpu", *requirements))
    assert [step.verdict for step in found.steps if step.verdict == "failed"] == []
    assert set(found.placements["main"].instance_types) == types


@pytest.mark.parametrize(
    ("requirements", "selector", "words"),
    [
        ([CMR], {f"{AWS}instance-gpu-name": "h100"}, "no instance type that matches"),
        ([CMR], {f"{AWS}instance-accelerator-manufacturer": "aws"}, "no instance type that matches"),
        ([need("instance-family", "In", "m5")], {f"{AWS}instance-capability-flex": "true"}, "no instance type"),
        ([need("instance-family", "In", "m5")], {f"{AWS}instance-typo": "x"}, "Karpenter does not allow"),
        ([need("instance-family", "In", "m5")], {"eks.amazonaws.com/instance-category": "m"}, ""),
        ([CMR], {"kubernetes.io/os": "windows"}, ""),
    ],
)
def test_lint_defect_1_labels_that_no_type_of_the_pool_has(
    requirements: list[dict[str, Any]], selector: dict[str, str], words: str
) -> None:
    node_class = other("karpenter.k8s.aws/v1", "EC2NodeClass", "default", {"spec": {"amiFamily": "AL2023"}})
    found = step(job(pod(0, nodeSelector=selector)), pool("general", *requirements), node_class, is_complete=True)
    assert found.verdict == "failed"
    assert words in found.message


def test_lint_defect_1_types_that_the_catalog_does_not_know_are_not_judged() -> None:
    assert step(job(pod(8)), pool("gpu", need("instance-family", "In", "p9"))).verdict == "failed"
    found = step(job(pod(8)), pool("gpu", need("node.kubernetes.io/instance-type", "In", "p9.48xlarge")))
    assert found.verdict == "unknown"
    assert "p9.48xlarge" in found.message
    found = step(job(pod(16)), pool("gpu", need("instance-family", "In", "p3", "p2")))
    assert (found.verdict, "p2.16xlarge" in found.message) == ("unknown", True)


def test_lint_defect_1_auto_mode_and_other_providers() -> None:
    auto = ("eks.amazonaws.com", "NodeClass")
    category = need("eks.amazonaws.com/instance-category", "In", "c", "m", "r")
    found = step(job(pod(8)), pool("general", category, node_class=auto))
    assert (found.verdict, found.message) == (
        "failed", "no instance type that node pool general allows has nvidia.com/gpu",
    )  # fmt: skip
    assert step(job(pod()), pool("general", category, node_class=auto)).verdict == "unknown"
    assert step(job(pod()), pool("general", node_class=("karpenter.azure.com", "AKSNodeClass"))).verdict == "unknown"


def test_min_values() -> None:
    least = need("instance-family", "In", "p4d", "p5", minValues=2)
    found = step(job(pod(8, nodeSelector={f"{AWS}instance-gpu-name": "h100"})), pool("gpu", least), is_complete=True)
    assert found.verdict == "failed"
    assert "(minValues), and the types have 1" in found.message
    assert step(job(pod(8)), pool("gpu", least), is_complete=True).verdict == "passed"


def test_capacity_reservations_of_the_node_class() -> None:
    reserved = need("karpenter.sh/capacity-type", "In", "reserved")
    p5 = need("node.kubernetes.io/instance-type", "In", "p5.48xlarge")
    without = other("karpenter.k8s.aws/v1", "EC2NodeClass", "default", {"spec": {}})
    with_terms = other(
        "karpenter.k8s.aws/v1", "EC2NodeClass", "default",
        {"spec": {"capacityReservationSelectorTerms": [{"id": "cr-0123456789abcdef0"}]}},
    )  # fmt: skip
    assert step(job(pod(8)), pool("gpu", p5, reserved, **TWO), without, is_complete=True).verdict == "failed"
    assert step(job(pod(8)), pool("gpu", p5, reserved, **TWO), with_terms, is_complete=True).verdict == "passed"
    found = step(job(pod(8)), pool("gpu", p5, reserved), with_terms, is_complete=True)
    assert (found.verdict, found.message) == (
        "unknown", "the input does not show how many reserved instances node pool gpu has",
    )  # fmt: skip


G6 = need("node.kubernetes.io/instance-type", "In", "g6.xlarge")
KUEUE = [
    other("kueue.x-k8s.io/v1beta2", "LocalQueue", "main", {"spec": {"clusterQueue": "main"}}, "default"),
    other("kueue.x-k8s.io/v1beta2", "ClusterQueue", "main", {"spec": {"namespaceSelector": {}, "resourceGroups": [{
        "coveredResources": ["cpu", "memory", "nvidia.com/gpu"],
        "flavors": [{"name": "h100", "resources": [
            {"name": name, "nominalQuota": "1000Gi"} for name in ("cpu", "memory", "nvidia.com/gpu")]}]}]}}),
]  # fmt: skip


@pytest.mark.parametrize(
    "labels",
    [
        {"eks.amazonaws.com/nodegroup": "h100"},
        {"alpha.eksctl.io/nodegroup-name": "h100"},
        {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"},
        {"example.com/rack": "7"},
    ],
)
def test_lint_defect_3_flavors_of_managed_node_groups_are_not_judged(labels: dict[str, str]) -> None:
    flavor = other("kueue.x-k8s.io/v1beta2", "ResourceFlavor", "h100", {"spec": {"nodeLabels": labels}})
    found = step(job(pod(8), labels={QUEUE: "main"}), *KUEUE, flavor, pool("general", CMR))
    assert found.verdict == "unknown"
    assert found.message.startswith("flavor h100 selects nodes that no NodePool of the input makes")
    found = step(job(pod(8), labels={QUEUE: "main"}), *KUEUE, flavor, pool("general", CMR), is_complete=True)
    assert found.verdict == "failed"


def test_lint_defect_3_pods_that_other_nodes_may_run() -> None:
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    gpu = pool("gpu", G6, taints=[taint])
    assert step(job(pod(nodeSelector={"kubernetes.io/os": "linux"})), gpu).verdict == "unknown"
    assert step(job(pod(), labels={}), gpu, is_complete=True).verdict == "failed"
    off = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [need("karpenter.sh/nodepool", "DoesNotExist")]}]}}}  # fmt: skip
    assert step(job(pod(affinity=off)), gpu).verdict == "unknown"
    assert step(job(pod(1)), gpu).verdict == "passed", "EKS adds the toleration of the device"


def anti(key: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels or LABELS}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def near(key: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels or LABELS}}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def even(key: str, **more: Any) -> dict[str, Any]:
    row = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
           "labelSelector": {"matchLabels": LABELS}}  # fmt: skip
    return {"topologySpreadConstraints": [row | more]}


HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
ZONES = need(ZONE, "In", "us-east-1a", "us-east-1b")
G6_48 = need("node.kubernetes.io/instance-type", "In", "g6.48xlarge")
TWO = {"limits": {"nodes": "2"}}


@pytest.mark.parametrize(
    ("rules", "count", "verdict"),
    [
        ({}, 16, "passed"),
        ({}, 17, "failed"),
        (anti(HOST), 2, "passed"),
        (anti(HOST), 3, "failed"),
        (anti(HOST, {"app": "b"}), 3, "passed"),
        (anti(ZONE), 2, "passed"),
        (anti(ZONE), 3, "failed"),
        (anti("example.com/rack"), 2, "unknown"),
        (anti(HOST, {"job-name": "run"}), 3, "failed"),
        (anti(HOST, {"batch.kubernetes.io/job-completion-index": "0"}), 3, "unknown"),
        (near(HOST), 8, "passed"),
        (near(HOST), 9, "failed"),
        (near(ZONE), 16, "passed"),
        (near(ZONE, {"app": "cache"}), 1, "unknown"),
        (even(HOST), 2, "passed"),
        (even(HOST), 8, "unknown"),
        (even(ZONE), 16, "passed"),
        (even(ZONE, minDomains=3), 3, "failed"),
        (even(ZONE, whenUnsatisfiable="ScheduleAnyway"), 3, "passed"),
        (even("example.com/rack"), 3, "unknown"),
        ({"ports": [{"containerPort": 80, "hostPort": 80}]}, 2, "passed"),
        ({"ports": [{"containerPort": 80, "hostPort": 80}]}, 3, "failed"),
        ({"ports": [{"containerPort": 80}], "hostNetwork": True}, 3, "failed"),
        ({"nodeName": "a"}, 1, "unknown"),
        ({"schedulerName": "volcano"}, 1, "unknown"),
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}, 1, "unknown"),
    ],
)
def test_rules_between_pods(rules: dict[str, Any], count: int, verdict: str) -> None:
    found = step(job(pod(1, **rules), count), pool("gpu", G6_48, ZONES, **TWO))
    assert found.verdict == verdict, found.message


def test_c27_a_shortage_of_nodes_is_no_shortage_of_resources() -> None:
    found = step(job(pod(1, **anti(HOST)), 3), pool("gpu", G6_48, ZONES, **TWO))
    assert found.message == "node pool gpu has nodes for 2 of 3 pods: at most 1 per node"


def test_a_port_that_a_daemonset_uses() -> None:
    ports = [{"containerPort": 9100, "hostPort": 9100}]
    agent = other("apps/v1", "DaemonSet", "exporter", {"spec": {"template": {"spec": {
        **pod(ports=ports, cpu="100m"), "tolerations": [{"operator": "Exists"}]}}}}, "monitoring")  # fmt: skip
    found = step(job(pod(1, ports=ports)), pool("gpu", G6), agent)
    assert (found.verdict, "uses port 9100 (TCP)" in found.message) == ("failed", True)


def test_zones_that_the_input_does_not_show() -> None:
    wanted = pod(1, nodeSelector={ZONE: "us-east-1a"})
    assert step(job(wanted), pool("gpu", G6)).verdict == "unknown"
    assert step(job(wanted), pool("gpu", G6, ZONES)).verdict == "passed"
    assert step(job(pod(1, nodeSelector={ZONE: "us-east-1c"})), pool("gpu", G6, ZONES)).verdict == "failed"


@pytest.mark.parametrize(
    ("device", "is_complete", "verdict"),
    [
        ("amd.com/gpu", False, "failed"),
        ("example.com/fpga", False, "unknown"),
        ("example.com/fpga", True, "failed"),
        ("hugepages-2Mi", True, "failed"),
    ],
)
def test_devices_that_no_node_of_the_pool_has(device: str, is_complete: bool, verdict: str) -> None:
    work = job(pod(limits={device: "2Mi" if device.startswith("huge") else 1}))
    found = step(work, pool("general", G6), is_complete=is_complete)
    assert found.verdict == verdict


def test_devices_of_other_makers_need_a_device_plugin() -> None:
    amd = pool("amd", need("instance-family", "In", "g4ad"))
    work = job(pod(limits={"amd.com/gpu": 1}))
    assert (found := step(work, amd)).verdict == "unknown", found.message
    plugin = other("apps/v1", "DaemonSet", "amdgpu-device-plugin-daemonset", {"spec": {"template": {"spec": {}}}})
    assert step(work, amd, plugin).verdict == "passed"


def jobset(*sets: tuple[str, int, dict[str, Any]]) -> Manifest:
    jobs = [{"name": name, "template": {"spec": job(spec, count).body["spec"]}} for name, count, spec in sets]
    return other("jobset.x-k8s.io/v1alpha2", "JobSet", "run", {"spec": {"replicatedJobs": jobs}}, "default")


@pytest.mark.parametrize(
    ("sets", "verdict"),
    [
        ([("a", 1, pod(8)), ("b", 1, pod(8))], "passed"),
        ([("a", 2, pod(8)), ("b", 1, pod(8))], "failed"),
        ([("driver", 1, pod()), ("worker", 2, pod(8))], "passed"),
        ([("a", 1, pod(5)), ("b", 2, pod(5))], "unknown"),
        ([("a", 3, pod(3)), ("b", 3, pod(1)), ("c", 1, pod(4))], "passed"),
    ],
)
def test_pod_sets_share_the_limits_of_a_pool(sets: list[tuple[str, int, dict[str, Any]]], verdict: str) -> None:
    found = step(jobset(*sets), pool("gpu", G6_48, **TWO))
    assert found.verdict == verdict, found.message


def test_replicas_share_the_limits_of_a_pool() -> None:
    def deployment(replicas: int) -> Manifest:
        template = {"metadata": {"labels": LABELS}, "spec": pod(8)}
        spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
        return Manifest("w.yaml", (), "apps/v1", "Deployment", "run", {"spec": spec}, "default", {})

    assert step(deployment(2), pool("gpu", G6_48, **TWO)).verdict == "passed"
    found = step(deployment(3), pool("gpu", G6_48, **TWO))
    assert (found.verdict, found.fix) == ("failed", "run at most 2 replicas")


def test_lint_defect_14_without_node_pools_no_node_is_certain() -> None:
    found = result(job(pod(1)))
    assert [step.verdict for step in found.steps if step.stage.value in NODE_STAGES] == ["unknown"]


def test_many_types_are_named_in_short() -> None:
    found = step(job(pod()), pool("general", CMR))
    assert found.verdict == "passed"
    assert "types such as " in found.message
    assert len(found.message) < 120


@pytest.mark.parametrize(
    ("zone", "verdict"), [("us-east-1a", "passed"), ("us-east-1c", "failed"), ("", "unknown")],
)  # fmt: skip
def test_zones_of_volumes(zone: str, verdict: str) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    objects = [
        pool("gpu", G6, ZONES),
        other("v1", "PersistentVolumeClaim", "data", {"spec": {"volumeName": "pv-1"}}, "default"),
    ]
    if zone:
        term = {"matchExpressions": [need("topology.ebs.csi.aws.com/zone", "In", zone)]}
        affinity = {"required": {"nodeSelectorTerms": [term]}}
        objects.append(other("v1", "PersistentVolume", "pv-1", {"spec": {"nodeAffinity": affinity}}))
    assert step(job(pod(1, volumes=volumes)), *objects).verdict == verdict


def test_zones_of_a_storage_class() -> None:
    amounts = {"requests": {"storage": "1Gi"}}
    claim = {"storageClassName": "local", "accessModes": ["ReadWriteOnce"], "resources": amounts}
    volumes = [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}]
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["us-east-1c"]}]}]
    storage = other("storage.k8s.io/v1", "StorageClass", "local", {"allowedTopologies": topologies})
    assert step(job(pod(1, volumes=volumes)), pool("gpu", G6, ZONES), storage).verdict == "failed"
