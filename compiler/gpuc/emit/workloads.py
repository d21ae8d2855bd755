"""Workload templates: per pool a Job that is admitted, fits a node and passes every policy, for users to start from."""

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
"""Annotation that tells how to use a template."""
GANG_NODES = 2
"""Nodes of a training template: the smallest run that crosses the fabric."""
ROOM_PERCENT = 95
"""Of what is left of a node: the rest is for agents that the platform adds later, which would unseat a full pod."""
RENDEZVOUS_PORT = 29500
KEEP_FINISHED_SECONDS = 86400
JOB = "batch/job"
"""The integration of Kueue that manages Jobs."""
PLACEHOLDER_REGISTRY = "registry.example.com/"
SPOT_NOTICE_SECONDS = 120
"""What EC2 leaves between its notice and the interruption."""


@dataclass(frozen=True, slots=True)
class _Template:
    """One Job of a pool."""

    name: str
    pool: Pool
    queue: str
    """The LocalQueue."""
    tenant: Tenant
    namespace: Namespace
    resources: Amounts
    """Requests and limits of its one container."""
    pods: int = 1

    @property
    def is_gang(self) -> bool:
        """Whether its pods talk to one another over the fabric."""
        return self.pool.has_efa and GPU in self.resources

    @property
    def locks_memory(self) -> bool:
        """Whether the container may pin memory for EFA, which only privileged namespaces allow."""
        return self.is_gang and self.namespace.spec.pod_security == "privileged"


def workloads(cluster: Cluster) -> Iterator[Artifact]:
    """One file per pool that a queue names, under workloads/, which is never synced; none where no work is admitted.

    None at all where Kueue does not manage Jobs: a Job would run past every quota.
    """
    if JOB not in cluster.spec.kueue.frameworks:
        return
    for pool in cluster.pools:
        for suffix, resources in _portions(pool).items():
            room = _room(cluster, resources)
            for queue in _open_queues(cluster, pool, room)[:1]:
                tenant, namespace = _place(cluster, queue, pool)
                part = next(part for part in queue.cluster_queues if pool in part.pools)
                pods = _gang_nodes(queue, pool) if pool.has_efa else 1
                name = f"{pool.name}-{suffix}" if suffix else pool.name
                yield from _objects(cluster, _Template(name, pool, part.name, tenant, namespace, room, pods))


def _open_queues(cluster: Cluster, pool: Pool, room: Amounts) -> list[Queue]:
    """The queues that can ever admit a pod of the pool: none of what leaves does."""
    if pool.spec.leaving:
        return []
    return [
        queue
        for queue in cluster.queues_of(pool)
        if not queue.spec.leaving and _open_places(cluster, queue) and _can_have(cluster, queue, pool, room)
    ]


def _can_have(cluster: Cluster, queue: Queue, pool: Pool, room: Amounts) -> bool:
    most = next(cluster.ceiling(queue, share) for share in queue.shares if share.pool is pool)
    return all(most.get(name, 0) >= amount for name, amount in room.items())


def _open_places(cluster: Cluster, queue: Queue) -> list[tuple[Tenant, Namespace]]:
    """The namespaces from which a queue admits new work, in the order of its tenants."""
    tenants = [tenant for name in queue.tenant_names for tenant in cluster.tenants if tenant.name == name]
    return [
        (tenant, namespace)
        for tenant in tenants
        for namespace in tenant.namespaces
        if not tenant.spec.leaving and not namespace.spec.leaving
    ]


def _place(cluster: Cluster, queue: Queue, pool: Pool) -> tuple[Tenant, Namespace]:
    """The first namespace of the queue's tenants that suits best: EFA wants memory locks and an NCCL profile."""

    def unsuited(place: tuple[Tenant, Namespace]) -> tuple[bool, bool]:
        privileged = place[1].spec.pod_security == "privileged"
        return privileged != pool.has_efa, (place[1].nccl is not None) != pool.has_efa

    return min(_open_places(cluster, queue), key=unsuited)


def _gang_nodes(queue: Queue, pool: Pool) -> int:
    """Two nodes, or what the queue owns of the pool where that is less."""
    owned = next(share.nominal.get(GPU, 0) for share in queue.shares if share.pool is pool)
    return max(1, min(GANG_NODES, owned // max(1, pool.node.get(GPU, 1))))


def _portions(pool: Pool) -> dict[str, Amounts]:
    """What one pod takes, by the suffix of its template: a full node, or one piece of each GPU resource."""
    sharing = pool.sharing
    if sharing is None or sharing.mode == "shared":
        return {"": next(iter(pool.portions.values()))}
    if sharing.mode == "exclusive":
        return {"": dict(pool.node)}
    found = {
        profile.replace(".", "-").replace("+", "-"): pool.portions[sharing.resource(profile)]
        for profile in sharing.slices()
    }
    return found | ({"whole": pool.portions[GPU]} if sharing.whole_gpus else {})


def _room(cluster: Cluster, vector: Amounts) -> Amounts:
    """The vector with room beside it: whole cores where there are any, and the huge pages that EFA really uses."""
    room = vector | scale({name: vector[name] for name in (CPU, MEMORY)}, ROOM_PERCENT, 100)
    room[CPU] = room[CPU] // 1000 * 1000 or room[CPU]
    room[MEMORY] = room[MEMORY] // GIB * GIB or room[MEMORY]
    # Images and logs live on the same disk.
    room |= scale({EPHEMERAL_STORAGE: vector[EPHEMERAL_STORAGE]}, 1, 2)
    if HUGEPAGES in room:
        room[HUGEPAGES] = min(room[HUGEPAGES], cluster.catalog.nccl.pod.hugepages_mib * MIB)
    return room


def _objects(cluster: Cluster, template: _Template) -> Iterator[Manifest]:
    file = cluster.out(f"workloads/{template.pool.name}.yaml")
    origin, namespace = template.pool.path, template.namespace.name
    if template.is_gang:
        service: Body = {
            "spec": {
                "clusterIP": "None",
                # Ranks find one another while none is ready yet.
                "publishNotReadyAddresses": True,
                "selector": {"job-name": template.name},
                "ports": [{"name": "rendezvous", "port": RENDEZVOUS_PORT, "protocol": "TCP"}],
            }
        }
        yield Manifest(file, origin, "v1", "Service", template.name, service, namespace)
    labels = {QUEUE_LABEL: template.queue, **_priority(cluster)}
    notes = {USAGE: _usage(template)}
    body = {"spec": _job(cluster, template)}
    yield Manifest(file, origin, "batch/v1", "Job", template.name, body, namespace, labels, notes)


def _usage(template: _Template) -> str:
    text = "Replace image and command, keep the rest, then kubectl apply -f this file. "
    if template.is_gang:
        text += "Each pod is a node: for more of them raise parallelism, completions and --nnodes together. "
    elif SHARED_GPU in template.resources:
        text += "One share per container: a second one is no more compute. "
    return text + "Requests fit what a node of the pool has left. Kueue adds tolerations and the pool's label."


def _priority(cluster: Cluster) -> dict[str, str]:
    """The priority in the middle, so that a template neither pushes others away nor waits for everybody."""
    names = sorted(cluster.spec.priorities, key=lambda name: (cluster.spec.priorities[name], name))
    return {PRIORITY_LABEL: names[len(names) // 2]} if names else {}


def _job(cluster: Cluster, template: _Template) -> Body:
    """Without `suspend`: Kueue's webhook sets it, and takes it away when the workload is admitted."""
    runs = template.pool.spec.runs
    return {
        "parallelism": template.pods,
        "completions": template.pods,
        "completionMode": "Indexed",
        "backoffLimit": 3,
        **({"activeDeadlineSeconds": runs.longest} if runs else {}),
        "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
        # A pod that lost its node is not a failure of the work.
        "podFailurePolicy": {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
        },
        "template": {**_pod_metadata(template), "spec": _pod(cluster, template)},
    }


def _pod_metadata(template: _Template) -> Body:
    notes: dict[str, str] = {}
    if template.pool.spec.runs:
        notes["karpenter.sh/do-not-disrupt"] = "true"
    levels = template.pool.spec.topology
    if levels:
        level = "block" if "block" in levels else levels[0]
        notes[PREFERRED_TOPOLOGY] = LEVEL_LABELS[level]
    return {"metadata": {"annotations": notes}} if notes else {}


def _pod(cluster: Cluster, template: _Template) -> Body:
    spec: Body = {"restartPolicy": "Never", "automountServiceAccountToken": False}
    if template.is_gang:
        spec["subdomain"] = template.name
    grace_seconds = _grace_seconds(template.pool)
    if grace_seconds:
        spec["terminationGracePeriodSeconds"] = grace_seconds
    choices = {choice["resource"] for choice in FACTS["tenant.choices"](cluster, template.tenant)}
    if choices & template.resources.keys():
        # Other pools of the queue offer the same resource; Kueue would take the first with quota left.
        spec["nodeSelector"] = {POOL_LABEL: template.pool.name}
    if not template.is_gang:
        spec["securityContext"] = {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    spec["containers"] = [_container(cluster, template)]
    if template.pool.is_gpu:
        # Data loaders and NCCL share memory here; it counts as the container's memory.
        half = min(64 * GIB, template.resources[MEMORY] // 4 // MIB * MIB)
        shm = {"medium": "Memory", "sizeLimit": texts({MEMORY: half // GIB * GIB or half})[MEMORY]}
        spec["volumes"] = [{"name": "shm", "emptyDir": shm}]
    return spec


def _grace_seconds(pool: Pool) -> int:
    """Long enough to save the state once more; on spot no longer than EC2's notice."""
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
    """What the restricted level asks for; a gang runs as root, because added capabilities reach nobody else."""
    if template.is_gang:
        lock = {"capabilities": {"add": ["IPC_LOCK"]}} if template.locks_memory else {}
        return {"allowPrivilegeEscalation": False, **lock}
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
