"""Edits of a spec file, and sample edits from the cluster. Every generator yields the preferred edits first."""

import json
import pathlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.documents.reader import load_yaml
from gpuc.model import Cluster, Pool, Queue
from gpuc.objects.object_set import dig
from gpuc.source import read

ADDED_NODES = 1
RENAME_REASON = "renamed in the rehearsal"
_SHARING_MODES = ("timeSlicing", "mps", "mig")
_TRIED_TYPES = 6

REMOVED = object()
"""The value of a path that is removed."""


@dataclass(frozen=True)
class Renamed:
    """The value of a path whose last key gets another name in its place."""

    name: str


Edits = Mapping[Path, object]
"""The new value of each changed path: any value, REMOVED or Renamed."""


@dataclass(frozen=True)
class SampleEdit:
    """A change of the spec in one commit."""

    change: str
    """One line that describes the change of the spec."""
    edits: Edits
    subject: tuple[str, str] = ("", "")
    """Kind and name of the object whose change is measured. Empty if the first changed object is measured."""


@dataclass(frozen=True)
class Removal:
    """The removal of an element from the spec in two commits."""

    kind: str
    """pool, tenant or queue."""
    name: str
    mark: Edits
    """Sets `leaving: true` on the element, and on the queues that no other element uses."""
    unmark: Edits
    """Removes the key `leaving` that `mark` sets."""
    remove: Edits
    """Removes the element and every reference to it."""
    protected: tuple[tuple[str, str], ...]
    """Kind and name of the element's objects that workloads depend on."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def apply_edits(root: pathlib.Path, file: str, edits: Edits) -> None:
    """Changes the spec file of a cluster in the order of the edits, and writes it as JSON. Layers stay as they are.

    If a layer has a removed key, the file sets the key to null. root is the folder that contains specs/.

    Raises:
        StageError: if the text of the file or of a layer is invalid without a removed key.
        KeyError: if the file does not have a renamed key.
    """
    content: dict[str, Any] = load_yaml((root / file).read_text(encoding="utf-8"))

    def save() -> None:
        (root / file).write_text(f"{json.dumps(content, indent=2, ensure_ascii=False)}\n", encoding="utf-8")

    for path, value in edits.items():
        own = dig(content, *path[:-1])
        if isinstance(value, Renamed):
            if not isinstance(own, dict) or path[-1] not in own:
                raise KeyError(path)
            entries = {value.name if key == path[-1] else key: child for key, child in own.items()}
            own.clear()
            own.update(entries)
        elif value is REMOVED:
            if isinstance(own, dict):
                own.pop(path[-1], None)
            save()
            if dig(read(root, file).tree, *path) is not None:
                _set(content, path, None)
        else:
            _set(content, path, value)
        save()


def _set(content: dict[str, Any], path: Path, value: object) -> None:
    """Sets a value, and creates parent maps that the content does not have."""
    parent: Any = content
    for step in path[:-1]:
        if not isinstance(parent.get(step), dict):
            parent[step] = {}
        parent = parent[step]
    parent[path[-1]] = value


def larger_pools(cluster: Cluster, except_pool: str = "") -> Iterator[SampleEdit]:
    """Yields edits that add a node to a pool: pools without GPUs first, static pools last.

    Static pools are last because the added node starts at once.
    """
    for pool in sorted(cluster.pools, key=lambda pool: (pool.is_static, pool.is_gpu)):
        if pool.name == except_pool or pool.spec.leaving:
            continue
        field, old = ("static", pool.spec.nodes.static) if pool.is_static else ("max", pool.spec.nodes.max)
        path, new = ("spec", "pools", pool.name, "nodes", field), (old or 0) + ADDED_NODES
        change = f"pools.{pool.name}.nodes.{field}: {old} -> {new}"
        yield SampleEdit(change, {path: new}, ("NodePool", pool.name))


def instance_type_changes(cluster: Cluster) -> Iterator[SampleEdit]:
    """Yields edits that add an instance type with the same GPU to a pool, or remove the first of several types.

    GPU pools are first, static pools are last.
    """
    for pool in sorted(cluster.pools, key=lambda pool: (pool.is_static, not pool.is_gpu)):
        types = [instance.type for instance in pool.instances]
        more = [[*types, name] for name in _similar_types(cluster, pool)]
        fewer = [types[1:]] if len(types) > 1 else []
        for chosen in (*more[:_TRIED_TYPES], *fewer):
            change = f"pools.{pool.name}.instances: {', '.join(types)} -> {', '.join(chosen)}"
            path = ("spec", "pools", pool.name, "instances")
            yield SampleEdit(change, {path: chosen}, ("NodePool", pool.name))


def stricter_policies(cluster: Cluster) -> Iterator[SampleEdit]:
    """Yields edits that change a policy from warn to deny."""
    for name in cluster.policies:
        if cluster.policy_stage(name) != "warn":
            continue
        settings = cluster.policy_settings(name)
        value = {"stage": "deny", **settings} if settings else "deny"
        yield SampleEdit(f"policies.{name}: warn -> deny", {("spec", "policies", name): value})


def removable_pools(cluster: Cluster) -> Iterator[Removal]:
    """Yields removals of pools: pools with GPU sharing first, static pools last.

    Pools with GPU sharing have additional objects. A pool that is the only pool of a queue cannot be removed.
    """
    for pool in sorted(cluster.pools, key=_pool_rank):
        queues = cluster.queues_of(pool)
        if not queues or any({other.name for other in queue.pools} == {pool.name} for queue in queues):
            continue  # every queue needs at least one pool
        path: Path = ("spec", "pools", pool.name)
        quotas: Edits = {("spec", "queues", queue.name, "quota", pool.name): REMOVED for queue in queues}
        yield _removal("pool", pool.name, (path,), {**quotas, path: REMOVED}, [("NodePool", pool.name)])


def removable_queues(cluster: Cluster) -> Iterator[Removal]:
    """Yields removals of queues: first the queues whose tenants have another queue."""
    for queue in sorted(cluster.queues, key=lambda queue: _is_only_queue(cluster, queue)):
        protected = [("ClusterQueue", part.name) for part in queue.cluster_queues]
        path: Path = ("spec", "queues", queue.name)
        yield _removal("queue", queue.name, (path,), _without_queues(cluster, [queue]), protected)


def removable_tenants(cluster: Cluster) -> Iterator[Removal]:
    """Yields removals of tenants together with their unshared queues. The tenant with the fewest pools is first."""
    for tenant in sorted(cluster.tenants, key=lambda tenant: len(tenant.pools)):
        own = [queue for queue in tenant.queues if queue.tenant_names == (tenant.name,)]
        shared = [queue for queue in tenant.queues if queue not in own]
        protected = [("Namespace", namespace.name) for namespace in tenant.namespaces]
        protected += [("ClusterQueue", part.name) for queue in own for part in queue.cluster_queues]
        path: Path = ("spec", "tenants", tenant.name)
        others: Edits = {
            ("spec", "queues", queue.name, "tenants"): [name for name in queue.tenant_names if name != tenant.name]
            for queue in shared
        }
        paths = (path, *(("spec", "queues", queue.name) for queue in own))
        remove: Edits = {**_without_queues(cluster, own), **others, path: REMOVED}
        yield _removal("tenant", tenant.name, paths, remove, protected)


def _removal(kind: str, name: str, paths: tuple[Path, ...], remove: Edits, protected: list[tuple[str, str]]) -> Removal:
    """Returns the removal of an element. paths: the paths of the element and of the queues that only it uses."""
    mark: Edits = {(*path, "leaving"): True for path in paths}
    return Removal(kind, name, mark, dict.fromkeys(mark, REMOVED), remove, tuple(protected))


def renamed_tenants(cluster: Cluster) -> Iterator[SampleEdit]:
    """Yields edits that rename a tenant and not its namespaces. The tenant with the most namespaces is first."""
    for tenant in sorted(cluster.tenants, key=lambda tenant: -len(tenant.namespaces)):
        name = f"{tenant.name}-2"
        queues: Edits = {
            ("spec", "queues", queue.name, "tenants"): [
                name if old == tenant.name else old for old in queue.tenant_names
            ]
            for queue in tenant.queues
        }
        edits: Edits = {
            ("spec", "tenants", tenant.name): Renamed(name),
            **queues,
            ("spec", "removed", "tenants", tenant.name): RENAME_REASON,
        }
        subject = ("Namespace", tenant.namespaces[0].name)
        yield SampleEdit(f"tenants.{tenant.name} -> tenants.{name}", edits, subject)


def _similar_types(cluster: Cluster, pool: Pool) -> list[str]:
    """Returns other instance types of the same family with the same GPU, in the order of the catalog."""
    first = pool.instances[0]
    used = [instance.type for instance in pool.instances]
    return [
        instance.type
        for instance in cluster.catalog.family(first.family)
        if instance.type not in used and instance.gpu == first.gpu
    ]


def _pool_rank(pool: Pool) -> tuple[bool, bool, int]:
    kind = pool.sharing.kind if pool.sharing else ""
    return (
        bool(pool.always_running),
        bool(pool.dedicated_to),
        _SHARING_MODES.index(kind) if kind in _SHARING_MODES else len(_SHARING_MODES),
    )


def _is_only_queue(cluster: Cluster, queue: Queue) -> bool:
    """Returns whether a tenant has no other queue."""
    return any(len(tenant.queues) == 1 for tenant in cluster.tenants if queue in tenant.queues)


def _without_queues(cluster: Cluster, removed: list[Queue]) -> Edits:
    """Returns the edits that remove queues.

    The edits also remove borrowing limits of other queues for pools that no other queue of the cohort has any more.
    """
    edits: dict[Path, object] = {("spec", "queues", queue.name): REMOVED for queue in removed}
    remaining = [queue for queue in cluster.queues if queue not in removed and queue.spec.cohort]
    for queue in remaining:
        others = [other for other in remaining if other is not queue and other.spec.cohort == queue.spec.cohort]
        lendable = {pool.name for other in others for pool in other.pools}
        for pool, quota in queue.spec.quota.items():
            if quota.borrow is not None and pool not in lendable:
                edits["spec", "queues", queue.name, "quota", pool, "borrow"] = REMOVED
    return edits
