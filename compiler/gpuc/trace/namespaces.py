"""Namespaces of workloads: namespaces that exist, and namespaces that objects name but gpuc does not create."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gpuc.cluster.namespace import namespaces
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, items
from gpuc.trace.advice import for_local_queue
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import Workload

_FIELD: Path = ("metadata", "namespace")


def namespace_steps(cluster: ClusterIndex, workload: Workload) -> Iterator[Step]:
    """Yields a step for a namespace that does not exist, or perhaps not; no step for a namespace that exists.

    Without all objects of the cluster, every namespace is assumed to exist.
    """
    objects, name = cluster.objects, workload.namespace
    if not objects.is_complete or name in namespaces(objects).created:
        return
    accounts = {account.partition("/")[0] for account in cluster.accounts.values()}
    if name and name in _named(objects) | accounts:
        message = f"gpuc does not create namespace {name}, so gpuc does not know its labels and objects"
        yield Step(Stage.API, "unknown", message, field=_FIELD)
        return
    message = f"namespace {name or '(none)'} does not exist"
    yield Step(Stage.API, "failed", message, fix=for_local_queue(cluster, workload), field=_FIELD)


@lru_cache(maxsize=4)
def _named(objects: ObjectSet) -> frozenset[str]:
    """Returns the namespaces that objects are in, that Applications and AppProjects name, or that may send traffic."""
    peers = [
        dig(peer, "namespaceSelector", "matchLabels", NAMESPACE_NAME)
        for policy in objects.of("networking.k8s.io", "NetworkPolicy")
        for _, rule in items(dig(policy.body, "spec", "ingress"))
        for _, peer in items(dig(rule, "from"))
    ]
    owners = (manifest.namespace for manifest in objects.manifests)
    return frozenset((*namespaces(objects).mentioned, *owners, *(peer for peer in peers if isinstance(peer, str))))
