"""Workload templates: a Job per pool that Kueue admits, that fits on a node, and that passes all policies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.emit.policy_facts import FACTS
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, Amounts, scale, texts
from gpuc.kubernetes.kueue import LEVEL_LABELS, PREFERRED_TOPOLOGY
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster, Namespace, Pool, Queue, Tenant
from gpuc.model.names import DOMAIN, GPU, HUGEPAGES, POOL_LABEL, PRIORITY_LABEL, QUEUE_LABEL, SHARED_GPU

USAGE = f"{DOMAIN}/usage"
"""Annotation with instructions for the use of a template."""
GANG_NODES = 2
"""Number of nodes of a training template: the smallest run that uses the network between nodes."""
REQUEST_PERCENT = 95
"""Percentage of the available CPU and memory that a template requests. The rest is for future node agents."""
RENDEZVOUS_PORT = 29500
KEEP_FINISHED_SECONDS = 86400
JOB = "batch/job"
"""The Kueue integration for Jobs."""
PLACEHOLDER_REGISTRY = "registry.example.com/"
SPOT_NOTICE_SECONDS = 120
"""Time between the notice of EC2 and the interruption of a spot instance."""


@dataclass(frozen=True, slots=True)
class _Template:
    """A Job that users copy and change to run their workloads on the nodes of a pool."""

    name: str
    pool: Pool
    queue: str
    """The name of the LocalQueue."""
    tenant: Tenant
    namespace: Namespace
    resources: Amounts
    """Requests and limits of the container."""
    pods: int = 1

    @property
    def is_gang(self) -> bool:
        """Whether the pods communicate over EFA."""
        return self.pool.has_efa and GPU in self.resources

    @property
    def locks_memory(self) -> bool:
        """Whether the container gets IPC_LOCK for EFA. Only privileged namespaces allow the capability."""
        return self.is_gang and self.namespace.spec.pod_security == "privileged"


def workloads(cluster: Cluster) -> Iterator[Artifact]:
    """Yields Jobs for each pool to which a queue can admit workloads. Argo CD does not sync the folder workloads/.

    If Kueue does not manage Jobs, there are no templates, because a Job would bypass all quotas.
    """
    if JOB not in cluster.spec.kueue.frameworks:
        return
    for pool in cluster.pools:
        for suffix, resources in _portions(pool).items():
            requests = _requests(cluster, resources)
            for queue in _admitting_queues(cluster, pool, requests)[:1]:
                tenant, namespace = _best_namespace(cluster, queue, pool)
                cluster_queue = next(candidate for candidate in queue.cluster_queues if pool in candidate.pools)
                pods = _gang_nodes(queue, pool) if pool.has_efa else 1
                name = f"{pool.name}-{suffix}" if suffix else pool.name
                yield from _objects(
                    cluster, _Template(name, pool, cluster_queue.name, tenant, namespace, requests, pods)
                )


def _admitting_queues(cluster: Cluster, pool: Pool, requests: Amounts) -> list[Queue]:
    """Returns the queues that can admit a pod with these requests to the pool. Leaving queues are excluded."""
    if pool.spec.leaving:
        return []
    return [
        queue
        for queue in cluster.queues_of(pool)
        if not queue.spec.leaving
        and _admitting_namespaces(cluster, queue)
        and _is_within_ceiling(cluster, queue, pool, requests)
    ]


def _is_within_ceiling(cluster: Cluster, queue: Queue, pool: Pool, requests: Amounts) -> bool:
    ceiling = next(cluster.ceiling(queue, pool_quota) for pool_quota in queue.pool_quotas if pool_quota.pool is pool)
    return all(ceiling.get(name, 0) >= amount for name, amount in requests.items())


def _admitting_namespaces(cluster: Cluster, queue: Queue) -> list[tuple[Tenant, Namespace]]:
    """Returns the namespaces from which a queue admits new workloads, in the order of the tenants of the queue."""
    tenants = [tenant for name in queue.tenant_names for tenant in cluster.tenants if tenant.name == name]
    return [
        (tenant, namespace)
        for tenant in tenants
        for namespace in tenant.namespaces
        if not tenant.spec.leaving and not namespace.spec.leaving
    ]


def _best_namespace(cluster: Cluster, queue: Queue, pool: Pool) -> tuple[Tenant, Namespace]:
    """Returns the best namespace for a pool: for EFA, a namespace that allows IPC_LOCK and has an NCCL profile."""

    def mismatches(candidate: tuple[Tenant, Namespace]) -> tuple[bool, bool]:
        _, namespace = candidate
        privileged = namespace.spec.pod_security == "privileged"
        return privileged != pool.has_efa, (namespace.nccl is not None) != pool.has_efa

    return min(_admitting_namespaces(cluster, queue), key=mismatches)


def _gang_nodes(queue: Queue, pool: Pool) -> int:
    """Returns the number of nodes of a gang: two, or one if the nominal quota is too low for two nodes."""
    nominal_gpus = next(pool_quota.nominal.get(GPU, 0) for pool_quota in queue.pool_quotas if pool_quota.pool is pool)
    return max(1, min(GANG_NODES, nominal_gpus // max(1, pool.node.get(GPU, 1))))


def _portions(pool: Pool) -> dict[str, Amounts]:
    """Returns the resources of a pod by the suffix of the template: a complete node, a GPU share or a MIG slice."""
    sharing = pool.sharing
    if sharing is None or sharing.mode == "shared":
        return {"": next(iter(pool.portions.values()))}
    if sharing.mode == "exclusive":
        return {"": dict(pool.node)}
    slices = {
        profile.replace(".", "-").replace("+", "-"): pool.portions[sharing.resource(profile)]
        for profile in sharing.slices()
    }
    return slices | ({"whole": pool.portions[GPU]} if sharing.whole_gpus else {})


def _requests(cluster: Cluster, available: Amounts) -> Amounts:
    """Returns the requests of a pod: 95% of cpu and memory, half of the disk, and the huge pages that EFA needs.

    cpu and memory are rounded down to complete cores and GiB.
    """
    requests = available | scale({name: available[name] for name in (CPU, MEMORY)}, REQUEST_PERCENT, 100)
    requests[CPU] = requests[CPU] // 1000 * 1000 or requests[CPU]
    requests[MEMORY] = requests[MEMORY] // GIB * GIB or requests[MEMORY]
    # The other half of the disk is for images and logs.
    requests |= scale({EPHEMERAL_STORAGE: available[EPHEMERAL_STORAGE]}, 1, 2)
    if HUGEPAGES in requests:
        requests[HUGEPAGES] = min(requests[HUGEPAGES], cluster.catalog.nccl.pod.hugepages_mib * MIB)
    return requests


def _objects(cluster: Cluster, template: _Template) -> Iterator[Manifest]:
    file = cluster.out(f"workloads/{template.pool.name}.yaml")
    origin, namespace = template.pool.path, template.namespace.name
    if template.is_gang:
        service: Body = {
            "spec": {
                "clusterIP": "None",
                # Pods resolve the DNS names of the other pods before they are ready.
                "publishNotReadyAddresses": True,
                "selector": {"job-name": template.name},
                "ports": [{"name": "rendezvous", "port": RENDEZVOUS_PORT, "protocol": "TCP"}],
            }
        }
        yield Manifest(file, origin, "v1", "Service", template.name, service, namespace)
    labels = {QUEUE_LABEL: template.queue, **_priority(cluster)}
    annotations = {USAGE: _usage(template)}
    body = {"spec": _job(cluster, template)}
    yield Manifest(file, origin, "batch/v1", "Job", template.name, body, namespace, labels, annotations)


def _usage(template: _Template) -> str:
    text = "Replace image and command, then run kubectl apply -f with this file. "
    if template.is_gang:
        text += (
            "Each pod uses a complete node. For more nodes, increase parallelism, completions and --nnodes together. "
        )
    elif SHARED_GPU in template.resources:
        text += "Request one GPU share per container: two shares do not give more compute. "
    return (
        text + "The requests fit on a node of the pool. Kueue adds the tolerations and the node selector of the pool."
    )


def _priority(cluster: Cluster) -> dict[str, str]:
    """Returns the label with the middle priority of the spec, as a compromise between waiting and preempting."""
    names = sorted(cluster.spec.priorities, key=lambda name: (cluster.spec.priorities[name], name))
    return {PRIORITY_LABEL: names[len(names) // 2]} if names else {}


def _job(cluster: Cluster, template: _Template) -> Body:
    """Returns the spec of the Job. It does not contain `suspend`, because Kueue sets this field."""
    runs = template.pool.spec.runs
    return {
        "parallelism": template.pods,
        "completions": template.pods,
        "completionMode": "Indexed",
        "backoffLimit": 3,
        **({"activeDeadlineSeconds": runs.longest} if runs else {}),
        "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
        # The loss of a node does not count as a failure of the Job.
        "podFailurePolicy": {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
        },
        "template": {**_pod_metadata(template), "spec": _pod(cluster, template)},
    }


def _pod_metadata(template: _Template) -> Body:
    annotations: dict[str, str] = {}
    if template.pool.spec.runs:
        annotations["karpenter.sh/do-not-disrupt"] = "true"
    levels = template.pool.spec.topology
    if levels:
        level = "block" if "block" in levels else levels[0]
        annotations[PREFERRED_TOPOLOGY] = LEVEL_LABELS[level]
    return {"metadata": {"annotations": annotations}} if annotations else {}


def _pod(cluster: Cluster, template: _Template) -> Body:
    spec: Body = {"restartPolicy": "Never", "automountServiceAccountToken": False}
    if template.is_gang:
        spec["subdomain"] = template.name
    grace_seconds = _grace_seconds(template.pool)
    if grace_seconds:
        spec["terminationGracePeriodSeconds"] = grace_seconds
    choices = {choice["resource"] for choice in FACTS["tenant.choices"](cluster, template.tenant)}
    if choices & template.resources.keys():
        # Several pools of the queue have this resource. Without a selector, Kueue uses the first pool with free quota.
        spec["nodeSelector"] = {POOL_LABEL: template.pool.name}
    if not template.is_gang:
        spec["securityContext"] = {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    spec["containers"] = [_container(cluster, template)]
    if template.pool.is_gpu:
        # Shared memory for data loaders and NCCL. It counts as memory of the container.
        size = min(64 * GIB, template.resources[MEMORY] // 4 // MIB * MIB)
        shm = {"medium": "Memory", "sizeLimit": texts({MEMORY: size // GIB * GIB or size})[MEMORY]}
        spec["volumes"] = [{"name": "shm", "emptyDir": shm}]
    return spec


def _grace_seconds(pool: Pool) -> int:
    """Returns the grace period: one checkpoint interval, but on spot at most the time of the interruption notice."""
    every = pool.spec.runs.checkpoint_every if pool.spec.runs else None
    if not every:
        return 0
    return min(every, SPOT_NOTICE_SECONDS) if "spot" in pool.spec.purchase else every


def _container(cluster: Cluster, template: _Template) -> Body:
    registries = cluster.policy_settings("images").get("registries") or [PLACEHOLDER_REGISTRY]
    quantities = texts(template.resources)
    body: Body = {
        "name": "work",
        "image": f"{registries[0]}{template.tenant.name}/{template.pool.name}:replace-me",
        "command": _command(template),
        "resources": {"requests": quantities, "limits": dict(quantities)},
        "securityContext": _container_security(template),
    }
    if template.is_gang and template.namespace.nccl:
        body["envFrom"] = [{"configMapRef": {"name": template.namespace.nccl.config_map}}]
    if template.pool.is_gpu:
        body["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
    return body


def _command(template: _Template) -> list[str]:
    if template.is_gang:
        return [
            "torchrun",
            f"--nnodes={template.pods}",
            f"--nproc-per-node={template.resources[GPU]}",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint={template.name}-0.{template.name}:{RENDEZVOUS_PORT}",
            "train.py",
        ]
    return ["nvidia-smi", "-L"] if template.pool.is_gpu else ["python3", "work.py"]


def _container_security(template: _Template) -> Body:
    """Returns the settings of level restricted. A gang runs as root, because IPC_LOCK has no effect for other users."""
    if template.is_gang:
        lock = {"capabilities": {"add": ["IPC_LOCK"]}} if template.locks_memory else {}
        return {"allowPrivilegeEscalation": False, **lock}
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
