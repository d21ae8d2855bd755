"""Problems of gangs (pods that train together) in the pod templates of all kinds of workloads.

`gpuc lint` reports the problems of each object, and `gpuc trace` the problems of a workload that gets its nodes.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from gpuc.cluster.pool import Pool
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts
from gpuc.kubernetes.controllers import JOBSET_TOPOLOGY
from gpuc.kubernetes.kueue import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from gpuc.kubernetes.node_pool import DO_NOT_DISRUPT
from gpuc.manifest.manifest import Manifest, manifest_of
from gpuc.model.names import EFA, GPU
from gpuc.objects.object_set import count_or, dig, items, pairs
from gpuc.objects.pod_resources import of_containers
from gpuc.objects.pods import Pods, pods_of
from gpuc.parts.workload_kind import Problem
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Placement, Stage, Step, Steps, TraceResult
from gpuc.trace.workload import Workload

GangProblem = tuple[str, Problem]
"""The id of the rule with which lint reports a problem, and the problem."""
_DEFAULT_LIMIT = 6
_SHARED_MEMORY = "/dev/shm"


def gang_steps(cluster: ClusterIndex, workload: Workload, result: TraceResult) -> Steps:
    """Yields a step with the verdict "warned" for each problem of the pods of a workload, which have their nodes."""
    owner = manifest_of(workload.document)
    for pods in pods_of(workload.made or owner) if workload.object else ():
        name = pods.record.pod_set(pods.manifest.document(), pods.path)[0] if pods.record.pod_set else ""
        placed = result.placements.get(name, Placement())
        pools = [pool for pool in cluster.nodes.pools if pool.name in placed.pools]
        for _, problem in gang_problems(pods, owner, node_types(pods, pools, placed.instance_types)):
            yield Step(Stage.NODE, "warned", problem.message, pods=name, fix=problem.fix, field=problem.field)


def node_types(pods: Pods, pools: Iterable[Pool], names: Container[str]) -> list[Amounts]:
    """Returns the capacity of each instance type of node pools that has one of the names.

    The capacity is empty if nodes of the pool have EFA interfaces only for pods that request them, and the pods do not.
    """
    wants = any(name == EFA for _, name in pods.resources())
    known = ((pool, name) for pool in pools for name in pool.type_names if name in names)
    return [pool.capacity(name) if wants or pool.efa_interfaces else {} for pool, name in known]


def gang_problems(pods: Pods, owner: Manifest, nodes: Sequence[Amounts]) -> Iterator[GangProblem]:
    """Yields the problems of the pods of one template. Their fields are in the object of the user.

    Args:
        owner: the object of the user: that of the template, or the object from which a controller makes the other.
        nodes: the capacity of a node of each type that the pods can get; empty if the nodes are unknown.
    """
    found = [*_annotations(pods), *_retries(pods), *_fabric(pods, nodes)]
    found += (problem for path, container in pods.containers() for problem in _rendezvous(path, container))
    if owner is not pods.manifest:
        found = [(rule, problem._replace(field=())) for rule, problem in found]
        found += _annotation_of(owner, (), pods)
    yield from found


def _fabric(pods: Pods, nodes: Sequence[Amounts]) -> Iterator[GangProblem]:
    """Yields a problem for EFA interfaces that the pods leave unused, and for missing shared memory.

    Pods without EFA interfaces are a gang if several of them find each other by DNS names.

    Source: awslabs/awsome-distributed-ai 95b939cd 1.architectures/efa-cheatsheet; NVIDIA/nccl v2.30.7-1
    docs/userguide/source/troubleshooting/runtime_and_mpi_issues.rst (Shared memory)
    """
    made = pods.record.traits.made(pods.manifest.document(), pods.path, pods.spec)
    spec = made.pod if made else pods.spec
    limits = {name: int(count) for name, count in of_containers(spec, "limits").items()}
    gpus, wanted = limits.get(GPU, 0), limits.get(EFA, 0)
    has_names = pods.record.traits.has_service or dig(spec, "subdomain") is not None
    if not wanted and not (has_names and _number(pods) > 1):
        return
    containers = list(items(dig(spec, "containers")))
    place = next((index for index, row in containers if dig(row, "resources", "limits", GPU)), 0)
    field: Path = (*pods.path, "spec", "containers", place, "resources", "limits", *([EFA] if wanted else []))
    share = min((node.get(EFA, 0) * gpus // node[GPU] if node.get(GPU) else 0 for node in nodes), default=0)
    if wanted < share:
        message = f"the pods request {wanted or 'none'} of the {share} EFA interfaces that belong to their {gpus} GPUs"
        yield "TRN208", Problem(message, f"request {share} of {EFA}", field)
    for index, container in containers if wanted and gpus > 1 and dig(spec, "hostIPC") is not True else ():
        if dig(container, "resources", "limits", EFA) and not _has_shared_memory(spec, container):
            message = f"container {dig(container, 'name')} has no volume in memory at {_SHARED_MEMORY}"
            fix = f"mount an emptyDir with medium Memory at {_SHARED_MEMORY}"
            yield "TRN209", Problem(message, fix, (*pods.path, "spec", "containers", index, "volumeMounts"))


def _number(pods: Pods) -> int:
    """Returns the number of pods of all templates of an object; 1 if the object does not say it."""
    count, document = pods.record.pod_set, pods.manifest.document()
    return sum(count(document, row.path)[1] for row in pods_of(pods.manifest)) if count else 1


def _has_shared_memory(spec: Any, container: Any) -> bool:
    """Returns whether a container has another volume at /dev/shm than a directory on the disk of the node."""
    directories = [row for _, row in items(dig(spec, "volumes")) if isinstance(dig(row, "emptyDir"), dict)]
    disks = [dig(row, "name") for row in directories if not dig(row, "emptyDir", "medium")]
    mounts = [mount for _, mount in items(dig(container, "volumeMounts"))]
    places = [str(dig(mount, "mountPath")).rstrip("/") for mount in mounts if dig(mount, "name") not in disks]
    return any(place in ("", "/dev", _SHARED_MEMORY) for place in places)


def _retries(pods: Pods) -> Iterator[GangProblem]:
    """Yields a problem for a gang in a Job whose limit of retries is less than the number of its pods."""
    document, at = pods.manifest.document(), pods.path[:-1]
    job = dig(document, *at)
    has_policy = any(dig(document, *at[:end], "failurePolicy") for end in range(len(at)))
    if has_policy or dig(job, "backoffLimitPerIndex") is not None:
        return
    number, limit = count_or(dig(job, "parallelism"), 1), count_or(dig(job, "backoffLimit"), _DEFAULT_LIMIT)
    if number > 1 and limit < number and any(name == EFA for _, name in pods.resources()):
        message = f"{number} pods of a gang share {limit} retries: one failure of the gang is {number} failed pods"
        fix = "write backoffLimitPerIndex and maxFailedIndexes: 0, or a failurePolicy of a JobSet"
        yield "TRN204", Problem(message, fix, (*at, "backoffLimit"))


def _rendezvous(path: Path, container: Any) -> Iterator[GangProblem]:
    """Yields a problem for torchrun with the backend c10d, which waits 60 seconds for its host by default.

    Source: pytorch/pytorch v2.15.0 torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py (read_timeout)
    """
    for field in ("command", "args"):
        text = " ".join(str(word) for _, word in items(dig(container, field)))
        if not re.search(r"rdzv[-_]backend[= ]c10d", text):
            continue
        host = re.search(r"rdzv[-_]endpoint[= ]([^\s:]+)", text)
        is_short = host is not None and ".svc" not in host[1] and not host[1].startswith(("$", "localhost", "127."))
        if is_short or "read_timeout" not in text:
            message = "a pod that starts a minute before its host, or before the DNS record of the host, fails"
            fix = "write --node-rank, --master-addr with the full DNS name, and --rdzv-conf=timeout=SECONDS"
            yield "TRN205", Problem(message, fix, (*path, field))


def _annotations(pods: Pods) -> Iterator[GangProblem]:
    """Yields problems of two topology annotations for the same pods, and annotations outside of the pod template."""
    document, own = pods.manifest.document(), dict(pairs(dig(pods.template, "metadata", "annotations")))
    has_topology = bool({PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY} & own.keys())
    for at in (pods.path[:end] for end in range(len(pods.path)) if end == 0 or pods.path[end - 1] == "template"):
        path = (*at, "metadata", "annotations", JOBSET_TOPOLOGY)
        if has_topology and dig(document, *path) is not None:
            message = "JobSet and Kueue both choose the topology of the pods, and do not know of each other"
            yield "TRN206", Problem(message, "remove one annotation", path)
        yield from _annotation_of(pods.manifest, at, pods)


def _annotation_of(manifest: Manifest, at: Path, pods: Pods) -> Iterator[GangProblem]:
    """Yields a problem for the annotation that keeps nodes, if an object has it at a path and its pods do not."""
    note = ("metadata", "annotations", DO_NOT_DISRUPT)
    if dig(manifest.document(), *at, *note) is not None and dig(pods.template, *note) is None:
        message = f"Karpenter reads {DO_NOT_DISRUPT} at pods, not at a {manifest.kind}"
        yield "TRN207", Problem(message, "move it to the pod template", (*at, *note))
