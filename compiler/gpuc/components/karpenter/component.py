"""Karpenter: controller values, and an EC2NodeClass, NodeOverlays and a NodePool per pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuc.catalog.records import InstanceType
from gpuc.components.karpenter.disruption import disruption, expire_after
from gpuc.components.karpenter.node_class import node_class
from gpuc.diagnostics.finding import Path
from gpuc.emit.component import CLUSTER_ROLES, CONTROLLER, ON_SYSTEM_NODES, PLATFORM, SYSTEM_PODS, Component, Folder
from gpuc.emit.component_facts import HELM_LABELS, INSTANCE_LABEL, ChartLabels, Restarts, named
from gpuc.emit.sync import protected, protected_until_leaving, prunable, wave
from gpuc.kubernetes.amounts import CPU, GIB, MEMORY, quantity_text, texts
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_API, KARPENTER_AWS
from gpuc.kubernetes.duration import format_duration
from gpuc.kubernetes.node_pool import CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL, ZONE
from gpuc.manifest.manifest import Artifact, Body, Manifest, RunsOn, Values
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, GPU, RESERVED_INSTANCES
from gpuc.model.time_limits import termination_grace_seconds

OVERLAY_WEIGHT = 10
SERVICE_ACCOUNT = "the IAM role of the controller is for the ServiceAccount karpenter, which a FlowSchema also names"
"""The reason for the name of the ServiceAccount."""
PODS: dict[Path, RunsOn] = {(): "system nodes"}
NODES = "nodes"
"""The key under `limits` of a NodePool object for the maximum number of nodes."""

NODES_PER_STEP = 200
"""The number of nodes for which the controller gets another CPU core and another GiB of memory."""


def karpenter(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values and the FlowSchemas of the controller, and the objects of each pool."""
    yield Values(cluster.values_file("karpenter"), ("spec", "cloud", "aws"), "karpenter", _values(cluster), pods=PODS)
    yield from _flow_schemas(cluster)
    for pool in cluster.pools:
        yield from _pool(cluster, pool)


def _values(cluster: Cluster) -> Body:
    settings: Body = {
        "clusterName": cluster.aws.eks_cluster,
        # The default of the chart. It is explicit, because gpuc calculates the quotas with this value.
        "vmMemoryOverheadPercent": cluster.catalog.kubelet.vm_memory_overhead_permille / 1000,
    }
    if cluster.aws.interruption_queue:
        settings["interruptionQueue"] = cluster.aws.interruption_queue
    if gates := _feature_gates(cluster):
        settings["featureGates"] = gates
    return {
        # The chart keeps the two replicas on different hosts.
        "replicas": 2,
        "controller": {"resources": _controller_resources(cluster)},
        "settings": settings,
        # The defaults of the chart. They are explicit, because Karpenter cannot run on the nodes that it starts.
        **ON_SYSTEM_NODES,
    }


def _feature_gates(cluster: Cluster) -> dict[str, bool]:
    """Returns the feature gates that the emitted objects need. Without the feature gate, Karpenter ignores them."""
    needed = {
        "nodeOverlay": any(overlay_capacity(pool, instance) for pool in cluster.pools for instance in pool.instances),
        "reservedCapacity": any("reserved" in pool.spec.purchase for pool in cluster.pools),
        "staticCapacity": any(pool.always_running for pool in cluster.pools),
    }
    return {gate: True for gate, is_needed in needed.items() if is_needed}


def _controller_resources(cluster: Cluster) -> Body:
    """Returns the resources of the controller: requests equal to limits, so that the pod is Guaranteed.

    Without requests, the controller is the first pod that a system node under memory pressure kills. One core and 1Gi
    are the values of Karpenter's installation guide. The step for larger clusters is an estimate: Karpenter's own tests
    use 3Gi.

    Source: aws/karpenter-provider-aws v1.14.1 website/content/en/docs/getting-started (step08-apply-helm-chart.sh),
    test/hack/e2e_scripts/install_karpenter.sh
    """
    steps = 1 + sum(pool.nodes_max for pool in cluster.pools) // NODES_PER_STEP
    amounts = texts({CPU: 1000 * steps, MEMORY: steps * GIB})
    return {"requests": amounts, "limits": dict(amounts)}


def _flow_schemas(cluster: Cluster) -> Iterator[Manifest]:
    """Yields the FlowSchemas that give the controller the API priority of a controller in kube-system.

    Outside of kube-system, the requests of a controller share a priority level with the requests of all workloads. If
    one of them overloads the API server, Karpenter loses its leader election, and starts no nodes.

    Source: aws/karpenter-provider-aws v1.14.1 website/content/en/docs/getting-started, preventing APIServer request
    throttling
    """
    namespace = cluster.components["karpenter"].namespace
    leases: Body = {
        "apiGroups": ["coordination.k8s.io"],
        "namespaces": [namespace],
        "resources": ["leases"],
        "verbs": ["create", "get", "update"],
    }
    everything: Body = {
        "apiGroups": ["*"],
        "clusterScope": True,
        "namespaces": ["*"],
        "resources": ["*"],
        "verbs": ["*"],
    }
    urls: Body = {"nonResourceURLs": ["*"], "verbs": ["*"]}
    yield _flow_schema(cluster, "leader-election", 200, "leader-election", {"resourceRules": [leases]})
    # The FlowSchema service-accounts, which all other ServiceAccounts use, has the precedence 9000.
    rules: Body = {"resourceRules": [everything], "nonResourceRules": [urls]}
    yield _flow_schema(cluster, "workload", 1000, "workload-high", rules)


def _flow_schema(cluster: Cluster, name: str, precedence: int, level: str, rules: Body) -> Manifest:
    account = {"name": "karpenter", "namespace": cluster.components["karpenter"].namespace}
    subjects = [{"kind": "ServiceAccount", "serviceAccount": account}]
    spec: Body = {
        "distinguisherMethod": {"type": "ByUser"},
        "matchingPrecedence": precedence,
        "priorityLevelConfiguration": {"name": level},
        "rules": [{"subjects": subjects, **rules}],
    }
    return Manifest(
        file=cluster.out("karpenter/config/flow-schemas.yaml"),
        origin=("spec", "cloud", "aws"),
        api="flowcontrol.apiserver.k8s.io/v1",
        kind="FlowSchema",
        name=f"karpenter-{name}",
        annotations=wave(0),
        body={"spec": spec},
    )


def _pool(cluster: Cluster, pool: Pool) -> Iterator[Manifest]:
    file = cluster.out(f"karpenter/pools/{pool.name}.yaml")

    def manifest(api: str, kind: str, name: str, body: Body, annotations: dict[str, str]) -> Manifest:
        return Manifest(file, pool.path, api, kind, name, body, annotations=annotations)

    # Protected even if the pool is leaving: the finalizer of Karpenter keeps the object until the last node is deleted.
    annotations = protected(cluster, 0)
    yield manifest(f"{KARPENTER_AWS}/v1", "EC2NodeClass", pool.name, node_class(cluster, pool), annotations)
    for instance in pool.instances:
        if capacity := overlay_capacity(pool, instance):
            name = f"{pool.name}-{instance.type.replace('.', '-')}"
            annotations = protected_until_leaving(cluster, 1, leaving=pool.spec.leaving)
            yield manifest(
                "karpenter.sh/v1alpha1", "NodeOverlay", name, _overlay(pool, instance, capacity), annotations
            )
    annotations = protected_until_leaving(cluster, 2, leaving=pool.spec.leaving) | _reserved_instances(pool)
    body = _node_pool(cluster, pool, pool.spec.purchase, pool.nodes_max if pool.is_static else None)
    yield manifest(KARPENTER_API, "NodePool", pool.name, body, annotations)
    if pool.warm_nodes:
        body, annotations = _warm_node_pool(cluster, pool), prunable(cluster, 2)
        yield manifest(KARPENTER_API, "NodePool", pool.warm_node_pool, body, annotations)


def _reserved_instances(pool: Pool) -> dict[str, str]:
    """Returns the annotation with which `gpuc trace` knows the number of reserved nodes; empty without a number."""
    number = pool.spec.reservations.instances if pool.spec.reservations else None
    return {RESERVED_INSTANCES: str(number)} if number is not None else {}


def overlay_capacity(pool: Pool, instance: InstanceType) -> dict[str, str]:
    """Returns the resources of a node for which Karpenter's own prediction is missing or wrong.

    Karpenter predicts complete GPUs and EFA devices, but not MIG slices, GPU shares and huge pages. Without a
    NodeOverlay, Karpenter never starts a node for a pod that requests one of these resources. Partitioned and shared
    GPUs do not count as complete GPUs. Otherwise Karpenter would start a node without a complete GPU for a pod that
    requests a complete GPU.

    Source: measured with karpenter-provider-aws v1.14.1
    """
    if not pool.is_gpu:
        return {}
    capacity = {GPU: 0} | pool.advertised(instance)
    capacity.pop(EFA, None)
    if capacity[GPU] == instance.gpu_count:
        del capacity[GPU]
    return texts(capacity)


def _overlay(pool: Pool, instance: InstanceType, capacity: dict[str, str]) -> Body:
    requirements = [
        _requirement(NODE_POOL, *pool.node_pools),
        _requirement(INSTANCE_TYPE, instance.type),
    ]
    return {"spec": {"weight": OVERLAY_WEIGHT, "requirements": requirements, "capacity": capacity}}


def _node_pool(cluster: Cluster, pool: Pool, purchase: Sequence[str], replicas: int | None) -> Body:
    """Returns the body of a NodePool; `replicas` is the number of nodes of a static NodePool."""
    body: Body = {
        "template": _template(pool, purchase),
        "disruption": disruption(cluster, pool),
        "limits": _limits(pool) if replicas is None else _static_limits(pool),
    }
    if replicas is not None:
        body["replicas"] = replicas
    return {"spec": body}


def _warm_node_pool(cluster: Cluster, pool: Pool) -> Body:
    """Returns the body of the static NodePool of the warm nodes.

    Karpenter cannot change a NodePool between static and dynamic, and a NodePool has no minimum. A CapacityBuffer is no
    minimum either: it keeps free capacity beside the used capacity, and its feature gate is alpha. The warm nodes are
    not spot capacity if the pool has another option, because EC2 can take spot nodes back at any time.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, pkg/controllers/capacitybuffer
    """
    purchase = [option for option in pool.spec.purchase if option != "spot"] or pool.spec.purchase
    return _node_pool(cluster, pool, purchase, pool.warm_nodes)


def _template(pool: Pool, purchase: Sequence[str]) -> Body:
    spec: Body = {
        "nodeClassRef": {"group": KARPENTER_AWS, "kind": "EC2NodeClass", "name": pool.name},
        "requirements": _requirements(pool, purchase),
        "expireAfter": expire_after(pool),
    }
    if (grace_seconds := termination_grace_seconds(pool)) is not None:
        spec["terminationGracePeriod"] = format_duration(grace_seconds)
    if pool.taints:
        spec["taints"] = [taint.document() for taint in pool.taints]
    if pool.startup_taints:
        spec["startupTaints"] = [taint.document() for taint in pool.startup_taints]
    return {"metadata": {"labels": {**pool.labels, **pool.startup_labels}}, "spec": spec}


def _requirements(pool: Pool, purchase: Sequence[str]) -> list[Body]:
    return [
        _requirement(INSTANCE_TYPE, *(instance.type for instance in pool.instances)),
        _requirement(CAPACITY_TYPE, *purchase),
        _requirement("kubernetes.io/arch", pool.instances[0].arch),
        _requirement("kubernetes.io/os", "linux"),
        _requirement(ZONE, *pool.zones),
    ]


def _limits(pool: Pool) -> dict[str, str]:
    """Returns the `limits` of a dynamic NodePool object; zero for a pool that is marked as leaving.

    - The maximum number of nodes without the warm nodes, and that number times the CPUs of the largest instance type.
      Karpenter compares the node limit with existing nodes only; it compares the CPU limit while it schedules a batch
      of pods.
    - Exclusive GPUs: also the number of GPUs. With MIG or shared GPUs a GPU limit would have no effect, because the
      NodeOverlay lowers the number of GPUs.
    """
    if pool.spec.leaving:
        return {CPU: "0", NODES: "0"}
    most = pool.nodes_max - pool.warm_nodes
    vcpu = max(instance.vcpu for instance in pool.instances)
    limits = {CPU: quantity_text(CPU, vcpu * 1000 * most), NODES: quantity_text(NODES, most)}
    if pool.sharing is not None and pool.sharing.kind == "exclusive":
        gpus = max(instance.gpu_count for instance in pool.instances)
        limits[GPU] = quantity_text(GPU, gpus * most)
    return limits


def _static_limits(pool: Pool) -> dict[str, str]:
    """Returns the `limits` of a static NodePool object. Karpenter supports only a limit of the nodes there.

    - `replicas` plus one node, because Karpenter starts the replacement of a drifted node first. If no capacity is
      reserved for this node, the limit is `replicas`. Karpenter then replaces no drifted nodes, because each attempt
      would fail. If someone deletes a NodeClaim, Karpenter starts the next node after the instance has ended, because
      the limit also counts nodes that are being deleted.
    - Pool that is marked as leaving: zero, so that no node starts. The object keeps its `replicas`, because a lower
      number would drain nodes with running work at once.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/static, pkg/controllers/disruption/staticdrift.go,
    pkg/controllers/state/statenodepool.go (ReserveNodeCount)
    """
    return {NODES: "0" if pool.spec.leaving else quantity_text(NODES, pool.always_running + pool.can_start_spare_node)}


def _requirement(key: str, *values: str) -> Body:
    return {"key": key, "operator": "In", "values": list(values)}


def _ignored_hash(group: str, kind: str, name: str) -> Body:
    """Returns the entry of ignoreDifferences for the annotations in which Karpenter stores the hash of an object."""
    pointers = [f"/metadata/annotations/{group}~1{name}{suffix}" for suffix in ("", "-version")]
    return {"group": group, "kind": kind, "jsonPointers": pointers}


RESTARTS = Restarts(
    in_pods=None,
    in_no_pod=(
        "additionalAnnotations", "additionalClusterRoleRules", "additionalLabels", "podDisruptionBudget", "replicas",
        "revisionHistoryLimit", "service", "serviceAccount.annotations", "serviceMonitor", "strategy",
    ),
    partial=(),
    effect=lambda values: "until a new replica leads, Karpenter starts and replaces no nodes; nodes that run stay",
)  # fmt: skip
"""Source: karpenter-provider-aws v1.14.1 charts/karpenter/templates/deployment.yaml"""

COMPONENT = Component(
    name="karpenter",
    title="Karpenter",
    section=("spec", "cloud", "aws"),
    wave=0,
    artifacts=karpenter,
    is_needed=lambda cluster: True,
    may_need_refresh=False,
    keeps_definitions=False,
    chart_cluster_kinds=CLUSTER_ROLES,
    chart_kinds=(*CONTROLLER, ("", "Service"), ("policy", "PodDisruptionBudget")),
    cluster_kinds=(
        (KARPENTER_AWS, "EC2NodeClass"), (KARPENTER, "NodeOverlay"), (KARPENTER, "NodePool"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    ),
    kinds=(),
    reasons={
        "replicas": "a second replica continues if a system node fails",
        "controller.resources": "the controller has enough CPU and memory for the nodes of all pools",
        "settings.clusterName": "the nodes join this EKS cluster",
        "settings.vmMemoryOverheadPercent": "gpuc calculates quotas and requests with this value",
        "settings.interruptionQueue": "Karpenter drains a node before EC2 takes it back",
        "settings.featureGates": "without a feature gate, Karpenter ignores NodeOverlays, reservations or static nodes",
        "affinity": SYSTEM_PODS,
        "tolerations": SYSTEM_PODS,
    },
    relied_defaults={
        "nameOverride": "the ServiceMonitor selects the Service of Karpenter by the name of the chart",
        "fullnameOverride": SERVICE_ACCOUNT,
        "serviceAccount.name": SERVICE_ACCOUNT,
        "serviceAccount.create": SERVICE_ACCOUNT,
    },
    folders=(
        Folder("karpenter/config", "FlowSchemas", 0, "karpenter"),
        Folder(
            "karpenter/pools", "node pools", 20, "karpenter", is_protected=True,
            ignored=(
                _ignored_hash(KARPENTER, "NodePool", "nodepool-hash"),
                _ignored_hash(KARPENTER_AWS, "EC2NodeClass", "ec2nodeclass-hash"),
            ),
        ),
    ),
    ignored=(),
    ineffective={},
    ineffective_because="",
    namespace_labels=PLATFORM,
    frameworks={},
    restarts=RESTARTS,
    # The default is the bundle with which Karpenter connects.
    # Source: aws/karpenter-provider-aws v1.14.1 pkg/operator/operator.go (GetCABundle)
    hashed_values={"settings.clusterCABundle": "CA bundle of the API server"},
    # Source: karpenter-provider-aws v1.14.1 charts/karpenter/templates
    chart_labels=ChartLabels(
        services=named("karpenter", HELM_LABELS),
        pods=named("karpenter", INSTANCE_LABEL),
        relabelling=("nameOverride", "additionalLabels", "podLabels"),
    ),
    device_plugin=None,
    config_maps=(),
)  # fmt: skip
