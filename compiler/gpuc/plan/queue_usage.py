"""The quota that the objects of --workloads use in the ClusterQueues of the state before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.kubernetes.quota import Key
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.objects.pod_resources import pod_requests
from gpuc.plan.change import Change
from gpuc.trace.cluster_index import KUEUE, ClusterIndex
from gpuc.trace.flavors import choose
from gpuc.trace.kueue_scope import queue_of, why_unmanaged
from gpuc.trace.quota import Node
from gpuc.trace.workload import Workload, queued_pods, workload_of


class Use(NamedTuple):
    """What one object uses."""

    manifest: Manifest
    local_queue: str
    cluster_queue: str
    usage: dict[Key, int]
    """The requests by flavor and resource; empty if no flavor fits."""


def uses(change: Change) -> list[Use]:
    """Returns what each object of --workloads uses, if Kueue manages the object and its LocalQueue exists.

    Kueue places the objects one after another, in the order of the files: an object uses the first flavor that still
    has room.
    """
    if not change.workloads:
        return []
    index = ClusterIndex(change.before.objects)
    used: dict[str, dict[Key, int]] = {}
    found = []
    for manifest in change.workloads:
        workload = workload_of(manifest)
        if workload is None or why_unmanaged(index, workload):
            continue
        local = index.objects.find(KUEUE, "LocalQueue", queue_of(index, workload), workload.namespace)
        name = str(dig(local.body, "spec", "clusterQueue")) if local else ""
        if local is None or name not in index.quotas:
            continue
        usage: dict[Key, int] = {}
        for _ in range(workload.copies):
            for key, count in _place(index, index.quotas[name], workload, used.setdefault(name, {})):
                usage[key] = usage.get(key, 0) + count
        found.append(Use(manifest, local.name, name, usage))
    return found


def total_use(found: list[Use], cluster_queue: str, key: Key) -> int:
    """Returns how much of a resource of a flavor the objects use in a ClusterQueue."""
    return sum(use.usage.get(key, 0) for use in found if use.cluster_queue == cluster_queue)


def named(manifests: list[Manifest], most: int = 3) -> str:
    """Returns the names of objects: "Job nlp/train, JobSet nlp/big and 2 more"."""
    texts = [f"{one.kind} {one.namespace}/{one.name}" for one in manifests[:most]]
    more = len(manifests) - most
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _place(index: ClusterIndex, queue: Node, workload: Workload, used: dict[Key, int]) -> Iterator[tuple[Key, int]]:
    """Yields the usage of one workload, and adds the usage to `used`."""
    for pods in queued_pods(index.objects, workload):
        requests = pod_requests(pods.pod)
        chosen = choose(index, queue, pods, requests, used)
        for resource, flavor in chosen.flavors.items():
            yield (flavor, resource), requests.get(resource, 0) * pods.count
