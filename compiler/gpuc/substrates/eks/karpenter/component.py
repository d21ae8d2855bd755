"""Karpenter as a component: the Helm values of the controller, and the Karpenter objects of each node pool."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit import component as parts
from gpuc.emit import component_facts as facts
from gpuc.emit.sync import wave
from gpuc.kubernetes.amounts import CPU, GIB, MEMORY, texts
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS
from gpuc.kubernetes.duration import format_duration
from gpuc.manifest.manifest import Artifact, Body, Manifest, RunsOn, Values
from gpuc.model import Cluster
from gpuc.objects.object_set import dig
from gpuc.substrates.eks.karpenter.alerts import capacity_alerts, node_alerts
from gpuc.substrates.eks.karpenter.objects import overlay_capacity, pool_objects
from gpuc.substrates.eks.karpenter.preparation import iam
from gpuc.substrates.eks.scaling import aws, eks

SERVICE_ACCOUNT = "the IAM role of the controller is for the ServiceAccount karpenter, which a FlowSchema also names"
"""The reason for the name of the ServiceAccount."""
PODS: dict[Path, RunsOn] = {(): "system nodes"}

NODES_PER_STEP = 200
"""The number of nodes for which the controller gets another CPU core and another GiB of memory."""


def karpenter(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values and the FlowSchemas of the controller, and the objects of each pool."""
    yield Values(cluster.values_file("karpenter"), ("spec", "cloud", "aws"), "karpenter", _values(cluster), pods=PODS)
    yield from _flow_schemas(cluster)
    for pool in cluster.pools:
        yield from pool_objects(cluster, pool)


def _values(cluster: Cluster) -> Body:
    settings: Body = {
        "clusterName": aws(cluster).eks_cluster,
        # The default of the chart. It is explicit, because gpuc calculates the quotas with this value.
        "vmMemoryOverheadPercent": cluster.catalog.kubelet.vm_memory_overhead_permille / 1000,
    }
    if aws(cluster).interruption_queue:
        settings["interruptionQueue"] = aws(cluster).interruption_queue
    if gates := _feature_gates(cluster):
        settings["featureGates"] = gates
    return {
        # The chart keeps the two replicas on different hosts.
        "replicas": 2,
        "controller": {"resources": _controller_resources(cluster)},
        "settings": settings,
        # The defaults of the chart. They are explicit, because Karpenter cannot run on the nodes that it starts.
        **parts.on_system_nodes(cluster),
    }


def _feature_gates(cluster: Cluster) -> dict[str, bool]:
    """Returns the feature gates that the emitted objects need. Karpenter ignores objects whose feature gate is off."""
    needed = {
        "nodeOverlay": any(overlay_capacity(pool, instance) for pool in cluster.pools for instance in pool.instances),
        "reservedCapacity": any("reserved" in eks(pool).spec.purchase for pool in cluster.pools),
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
    other requests overload the API server, Karpenter loses its leader election, and starts no nodes.

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
    file, api = cluster.out("karpenter/config/flow-schemas.yaml"), "flowcontrol.apiserver.k8s.io/v1"
    origin, body = ("spec", "cloud", "aws"), {"spec": spec}
    return Manifest(file, origin, api, "FlowSchema", f"karpenter-{name}", body, annotations=wave(0))


def _ignored_hash(group: str, kind: str, name: str) -> Body:
    """Returns the entry of ignoreDifferences for the annotations in which Karpenter stores the hash of an object."""
    pointers = [f"/metadata/annotations/{group}~1{name}{suffix}" for suffix in ("", "-version")]
    return {"group": group, "kind": kind, "jsonPointers": pointers}


def _chapter(cluster: Cluster) -> dict[str, object]:
    return {
        "hours": cluster.spec.working_hours,
        "expiring": [pool for pool in cluster.pools if eks(pool).spec.expire_after],
        "without_spare": [pool for pool in cluster.pools if pool.is_static and not eks(pool).can_start_spare_node],
        "blocks": [pool for pool in cluster.pools if eks(pool).hold_at(pool.boot_minutes)],
        "duration": format_duration,
        "utc": lambda time: f"{time:%Y-%m-%d %H:%M} UTC",
    }


def _needs(chart: facts.InstalledChart) -> Iterator[tuple[str, Path]]:
    settings = dig(chart.values, "settings")
    yield facts.SYSTEM_NODES, ()
    yield f"eks-cluster/{dig(settings, 'clusterName')}", ("settings", "clusterName")
    yield "eks-addon/eks-pod-identity-agent", ()
    yield f"pod-identity/{chart.namespace}/karpenter", ()
    if queue := dig(settings, "interruptionQueue"):
        yield f"sqs-queue/{queue}", ("settings", "interruptionQueue")


METRICS: Body = {"endpoints": [{"port": "http-metrics", "path": "/metrics"}]}
"""Source: aws/karpenter-provider-aws v1.14.1 charts/karpenter/templates/servicemonitor.yaml, service.yaml"""

RESTARTS = facts.Restarts(
    in_pods=None,
    in_no_pod=(
        "additionalAnnotations", "additionalClusterRoleRules", "additionalLabels", "podDisruptionBudget", "replicas",
        "revisionHistoryLimit", "service", "serviceAccount.annotations", "serviceMonitor", "strategy",
    ),
    partial=(),
    effect=lambda values: "until a new replica leads, Karpenter starts and replaces no nodes; nodes that run stay",
)  # fmt: skip
"""Source: karpenter-provider-aws v1.14.1 charts/karpenter/templates/deployment.yaml"""

COMPONENT = parts.Component(
    name="karpenter",
    title="Karpenter",
    section=("spec", "cloud", "aws"),
    wave=0,
    artifacts=karpenter,
    is_needed=lambda cluster: True, may_need_refresh=False, keeps_definitions=False,
    chart_cluster_kinds=parts.CLUSTER_ROLES,
    chart_kinds=(*parts.CONTROLLER, ("", "Service"), ("policy", "PodDisruptionBudget")),
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
        "affinity": parts.SYSTEM_PODS,
        "tolerations": parts.SYSTEM_PODS,
    },
    relied_defaults={
        "nameOverride": "the ServiceMonitor selects the Service of Karpenter by the name of the chart",
        "fullnameOverride": SERVICE_ACCOUNT,
        "serviceAccount.name": SERVICE_ACCOUNT,
        "serviceAccount.create": SERVICE_ACCOUNT,
    },
    folders=(
        parts.Folder("karpenter/config", "FlowSchemas", 0),
        parts.Folder(
            "karpenter/pools", "node pools", 20, is_protected=True,
            # Only hashes: with RespectIgnoreDifferences, Argo CD would never apply an ignored field, such as a limit.
            ignored=(
                _ignored_hash(KARPENTER, "NodePool", "nodepool-hash"),
                _ignored_hash(KARPENTER_AWS, "EC2NodeClass", "ec2nodeclass-hash"),
            ),
        ),
    ),
    ignored=(), ineffective={}, ineffective_because="", namespace_labels=parts.PLATFORM,
    monitor=parts.Monitor(METRICS, {"app.kubernetes.io/name": "karpenter"}, build_metric="karpenter_build_info"),
    alerts={"nodes": node_alerts, "capacity": capacity_alerts},
    alert_labels=lambda cluster: (),
    ready_check=facts.ReadyCheck(
        "All node pools, node classes and overlays are ready", "get nodepools,ec2nodeclasses,nodeoverlays"
    ),
    preparation=facts.Preparation(20, iam), chapter=facts.Chapter("quotas", _chapter),
    member_rights=(), auditor_rights=(), calls=None, restarts=RESTARTS,
    # The default is the bundle with which Karpenter connects.
    # Source: aws/karpenter-provider-aws v1.14.1 pkg/operator/operator.go (GetCABundle)
    hashed_values={"settings.clusterCABundle": "CA bundle of the API server"},
    # Source: karpenter-provider-aws v1.14.1 charts/karpenter/templates
    chart_labels=facts.ChartLabels(
        services=facts.named("karpenter", facts.HELM_LABELS),
        pods=facts.named("karpenter", facts.INSTANCE_LABEL),
        relabelling=("nameOverride", "additionalLabels", "podLabels"),
    ),
    device_plugin=None, config_maps=(),
    rehearsal=facts.Rehearsal(
        program="karpenter-kwok",
        data=("karpenter-kwok-crds",),
        definitions="karpenter-crds",
        unused_groups=(),
    ),
    needs=_needs,
)  # fmt: skip
