"""Computes how much quota the objects from --workloads use in the ClusterQueues of the state before."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gpuc.cluster.queue import cluster_queue
from gpuc.diagnostics.words import first_names
from gpuc.kubernetes.quota import Key, Node
from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.flavors import admit
from gpuc.trace.kueue_scope import why_unmanaged
from gpuc.trace.kueue_steps import local_queue
from gpuc.trace.workload import queued_pods, workload_of


class Use(NamedTuple):
    """The quota that one object from --workloads uses."""

    manifest: Manifest
    local_queue: str
    cluster_queue: str
    usage: dict[Key, int]
    """The requests by flavor and resource; empty if Kueue does not admit the object."""


def uses(change: Change) -> list[Use]:
    """Returns the quota that each object from --workloads uses, if Kueue manages the object and its LocalQueue exists.

    gpuc admits the objects one after another, in the order of the files, as Kueue does: an object uses the first
    ResourceFlavor with enough free quota. If an object borrows quota, the queue that lends the quota has less free
    quota.
    """
    if not change.workloads:
        return []
    index = ClusterIndex(change.before.objects)
    in_use: dict[tuple[Node, Key], int] = {}
    found = []
    for manifest in change.workloads:
        workload = workload_of(manifest)
        if workload is None or why_unmanaged(index, workload):
            continue
        local = local_queue(index, workload)
        name = cluster_queue(local) if local else ""
        if local is None or name not in index.quotas:
            continue
        pod_sets, usage = queued_pods(index.objects, workload), Counter[Key]()
        for _ in range(workload.copies):
            _, used = admit(index, index.quotas[name], pod_sets, in_use)
            if not used:
                break
            usage.update(used)
        found.append(Use(manifest, local.name, name, usage))
    return found


def total_use(found: list[Use], cluster_queue: str, key: Key) -> int:
    """Returns how much of one resource of a ResourceFlavor the objects use together in a ClusterQueue."""
    return sum(use.usage.get(key, 0) for use in found if use.cluster_queue == cluster_queue)


def named(manifests: Sequence[Manifest]) -> str:
    """Returns the names of objects: "Job nlp/train, JobSet nlp/big, Job nlp/test and 2 more"."""
    return first_names([f"{manifest.kind} {manifest.namespace}/{manifest.name}" for manifest in manifests], 3)


def users_text(what: str, manifests: Sequence[Manifest]) -> tuple[str, ...]:
    """Returns the sentence "objects of --workloads {what}: NAMES" with what="in the queue"; none without objects."""
    return (f"objects of --workloads {what}: {named(manifests)}",) if manifests else ()
