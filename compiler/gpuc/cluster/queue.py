"""The ClusterQueues and Cohorts of a cluster with their quotas, as trees: a Cohort is the parent of its members.

Each value remembers where it comes from: an object and a path in the object, or an element of the spec.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

from msgspec import Struct, field

from gpuc.diagnostics.finding import Path, Rule
from gpuc.kubernetes import quota
from gpuc.kubernetes.amounts import amount
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quantity import quantity
from gpuc.kubernetes.quota import Key, Quota, connect
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, PoolQuota, Queue
from gpuc.model.queue import quotas_of
from gpuc.model.units import Unit, quota_unit
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, grouped, items

GROUPS: Path = ("spec", "resourceGroups")
"""The path of the resource groups of a ClusterQueue or Cohort."""
_PROVISIONING, _CONFIG = f"{GROUP}/provisioning-request", "ProvisioningRequestConfig"
COHORT, PARENT = ("cohortName", "cohort"), ("parentName", "parent")
"""The fields with the name of a ClusterQueue's cohort and of a Cohort's parent, in current and in older API versions.

Source: kueue v0.19.2 apis/kueue/v1beta1 and v1beta2, clusterqueue_types.go; v0.11.0 v1alpha1/cohort_types.go
"""


class Flavor(Struct, frozen=True):
    """An entry of `flavors` in a resource group of a ClusterQueue or Cohort."""

    name: str
    path: Path
    """The path of the flavor in the object: ("spec", "resourceGroups", 0, "flavors", 1)."""
    resources: tuple[str, ...]
    """The resources of its quotas."""


class Group(Struct, frozen=True):
    """A resource group of a ClusterQueue or Cohort. Kueue chooses one flavor of the group for all its resources."""

    path: Path
    covered: tuple[str, ...]
    """The resources of coveredResources."""
    flavors: tuple[Flavor, ...]


class Member(quota.Node, eq=False):
    """A ClusterQueue or a Cohort, as a node in a tree of cohorts."""

    manifest: Manifest | None = None
    """The object.

    None if the queue comes from the spec, and for a cohort that only a reference names: Kueue creates such a cohort.
    """
    groups: tuple[Group, ...] = ()
    """The resource groups of the object; empty in the spec."""
    queue: Queue | None = None
    """The queue of the spec that has this ClusterQueue; None for objects, and for cohorts."""
    pool_quotas: Mapping[str, PoolQuota] = field(default_factory=dict)
    """The quotas of the spec by node pool."""

    @property
    def flavors(self) -> dict[str, Flavor]:
        """The flavors by name, in the order in which Kueue tries them."""
        return {flavor.name: flavor for group in self.groups for flavor in group.flavors}

    @property
    def covered(self) -> list[str]:
        """The resources in coveredResources of all resource groups."""
        return [resource for group in self.groups for resource in group.covered]

    def covered_path(self, resource: str) -> Path:
        """Returns the path of a resource in coveredResources; an empty path if no group covers the resource."""
        paths = ((*group.path, "coveredResources", group.covered.index(resource)) for group in self.groups
                 if resource in group.covered)  # fmt: skip
        return next(paths, ())

    @property
    def by_flavor(self) -> dict[str, dict[str, Quota]]:
        """The quotas of the queue by flavor, and then by resource."""
        quotas: dict[str, dict[str, Quota]] = {}
        for (flavor, resource), of_resource in self.quotas.items():
            quotas.setdefault(flavor, {})[resource] = of_resource
        return quotas

    def path(self, key: Key) -> Path:
        """Returns the path of a quota: ("spec", "resourceGroups", 0, "flavors", 1, "resources", 2); () for no quota.

        Args:
            key: the name of the flavor and the name of the resource.
        """
        for group in self.groups:
            for flavor in group.flavors:
                if flavor.name == key[0] and key[1] in flavor.resources:
                    return (*flavor.path, "resources", flavor.resources.index(key[1]))
        return ()

    def finding(self, rule: Rule, key: Key, number: str, message: str, *, on_key: bool = False) -> ObjectFinding:
        """Returns a finding about a quota of the object.

        Args:
            key: the name of the flavor and the name of the resource.
            number: the field with the amount, for example nominalQuota.
        """
        assert self.manifest is not None, "quotas are quotas of objects"
        return ObjectFinding(rule, self.manifest, (*self.path(key), number), message, on_key=on_key)

    @property
    def words(self) -> str:
        """The name of the queue in messages: "queue research" of a spec, or "ClusterQueue research" of objects."""
        return f"queue {self.queue.name}" if self.queue else str(self.manifest)

    def flavor_words(self, flavor: str) -> str:
        """Returns the name of a flavor in messages: "node pool train" of a spec, or "ResourceFlavor train"."""
        return f"{'node pool' if self.queue else 'ResourceFlavor'} {flavor}"

    def unit(self, key: Key) -> Unit:
        """Returns the unit in which messages count a quota, for example nodes. Quotas of objects have no unit."""
        if (row := self.pool_quotas.get(key[0])) is None:
            return Unit(key[1], "")
        return quota_unit(row.pool, key[1], in_nodes=row.spec.nodes is not None)

    def setting(self, *path: str) -> Any:
        """Returns the value at a path below `spec` of the object; None if the queue has no object."""
        return dig(self.manifest.body if self.manifest else None, "spec", *path)

    @property
    def checks(self) -> dict[str, Path]:
        """The names of the AdmissionChecks of the queue, each with its path in the object."""
        old = items(self.setting("admissionChecks"))  # the field of v1beta1
        checks: dict[str, Path] = {str(name): ("spec", "admissionChecks", number) for number, name in old}
        for number, row in items(self.setting("admissionChecksStrategy", "admissionChecks")):
            checks[str(dig(row, "name"))] = ("spec", "admissionChecksStrategy", "admissionChecks", number)
        return checks

    @property
    def weight(self) -> Fraction | None:
        """The weight of the queue in fair sharing; None if the object sets no weight."""
        return quantity(self.setting("fairSharing", "weight"))

    @property
    def reclaims(self) -> bool:
        """Whether the ClusterQueue may preempt workloads to get back lent quota."""
        return self.setting("preemption", "reclaimWithinCohort") not in (None, "Never")


class Tree(Struct, frozen=True, eq=False):
    """A Cohort without a parent and all its descendants, which can share quota; or a ClusterQueue without a Cohort."""

    root: Member
    members: list[Member] = field(default_factory=list)
    """The root and its descendants, the root first."""

    @property
    def queues(self) -> list[Member]:
        """The ClusterQueues in the tree."""
        return [member for member in self.members if member.is_queue]


class Queues(Struct, frozen=True, eq=False, dict=True):
    """All ClusterQueues and Cohorts of a cluster."""

    members: list[Member]
    """Parents before children."""
    objects: ObjectSet
    """The objects with the queues; empty if the queues come from a spec."""

    @cached_property
    def by_name(self) -> dict[str, Member]:
        """The ClusterQueues by name."""
        return {member.name: member for member in self.members if member.is_queue}

    @cached_property
    def trees(self) -> list[Tree]:
        """All trees. Cohorts whose parents form a cycle are left out, because Kueue admits no workloads for them."""
        trees: dict[quota.Node, Tree] = {}
        for member in self.members:
            if not member.is_circular:
                if member.parent is None:
                    trees[member] = Tree(member)
                trees[member.root].members.append(member)
        return list(trees.values())

    @cached_property
    def local_queues(self) -> dict[str, list[Manifest]]:
        """The LocalQueues by the name of their ClusterQueue."""
        return grouped(self.objects.of(GROUP, "LocalQueue"), cluster_queue)

    @cached_property
    def in_namespace(self) -> dict[str, list[str]]:
        """By namespace, the names of the ClusterQueues that its LocalQueues name, even if a ClusterQueue is missing."""
        by_namespace = grouped(self.objects.of(GROUP, "LocalQueue"), lambda local: local.namespace)
        return {namespace: list(map(cluster_queue, found)) for namespace, found in by_namespace.items()}

    @cached_property
    def with_quota(self) -> frozenset[str]:
        """The names of the ResourceFlavors for which a ClusterQueue has a nominal quota."""
        rows = (row for member in self.by_name.values() for row in member.quotas.items())
        return frozenset(flavor for (flavor, _), row in rows if row.nominal)


def from_objects(objects: ObjectSet) -> Queues:
    """Returns the ClusterQueues and Cohorts in a set of objects. The objects are read only at the first call."""
    return objects.once(_queues)


def _queues(objects: ObjectSet) -> Queues:
    queues = [_member(manifest) for manifest in objects.of(GROUP, "ClusterQueue")]
    cohorts = [_member(manifest) for manifest in objects.of(GROUP, "Cohort")]
    return Queues(connect(queues, cohorts, Member), objects)


def from_model(cluster: Cluster) -> Queues:
    """Returns the ClusterQueues and Cohorts of a spec. Each flavor has the name of its pool."""
    queues = []
    for queue in cluster.queues:
        for row in queue.cluster_queues:
            cohort, quotas = queue.spec.cohort or "", quotas_of(row)
            pool_quotas = {pool_quota.pool.name: pool_quota for pool_quota in row.pool_quotas}
            queues.append(Member(row.name, True, cohort, quotas, queue=queue, pool_quotas=pool_quotas))
    cohorts = [Member(cohort.name, parent_name=cohort.spec.parent or "") for cohort in cluster.cohorts]
    return Queues(connect(queues, cohorts, Member), ObjectSet((), is_complete=True, catalog=cluster.catalog))


def parent(manifest: Manifest) -> tuple[str, str]:
    """Returns the field that names the parent Cohort of a ClusterQueue or Cohort, and its value; "" for none."""
    fields = COHORT if manifest.kind == "ClusterQueue" else PARENT
    found = ((name, dig(manifest.body, "spec", name)) for name in fields)
    return next(((name, value) for name, value in found if isinstance(value, str) and value), (fields[0], ""))


def cluster_queue(local: Manifest) -> str:
    """Returns the name of the ClusterQueue that a LocalQueue names; the text "None" if it names none."""
    return str(dig(local.body, "spec", "clusterQueue"))


def inactive_reason(objects: ObjectSet, queue: Member) -> tuple[str, Path] | None:
    """Returns a message about the object that makes a ClusterQueue inactive, and the path of the name of this object.

    Returns None for an active ClusterQueue. The function ignores stopPolicy.

    Source: kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go (inactiveReason), snapshot.go (skipInactiveCQReason)
    """
    if queue.is_circular and queue.manifest:
        return f"the parents of Cohort {queue.parent_name} form a cycle", ("spec", parent(queue.manifest)[0])
    for flavor in queue.flavors.values():
        manifest = objects.find(GROUP, "ResourceFlavor", flavor.name)
        if manifest is None:
            return f"ResourceFlavor {flavor.name} does not exist", (*flavor.path, "name")
        topology = dig(manifest.body, "spec", "topologyName")
        if topology is not None and objects.find(GROUP, "Topology", str(topology)) is None:
            return f"Topology {topology} of flavor {flavor.name} does not exist", (*flavor.path, "name")
    for name, path in queue.checks.items():
        if (check := objects.find(GROUP, "AdmissionCheck", name)) is None:
            return f"AdmissionCheck {name} does not exist", path
        is_known = objects.find(GROUP, _CONFIG, str(dig(check.body, "spec", "parameters", "name"))) is not None
        if dig(check.body, "spec", "controllerName") == _PROVISIONING and not is_known:
            return f"the parameters of AdmissionCheck {name} name no {_CONFIG}", path
    return None


def _member(manifest: Manifest) -> Member:
    """Returns a ClusterQueue or Cohort that is not yet connected."""
    groups, quotas = list[Group](), dict[Key, Quota]()
    for number, row in items(dig(manifest.body, *GROUPS)):
        path = (*GROUPS, number)
        flavors = []
        for position, flavor in items(dig(row, "flavors")):
            rows = [row for _, row in items(dig(flavor, "resources"))]
            name = dig(flavor, "name")
            flavors.append(
                Flavor(str(name), (*path, "flavors", position), tuple(str(dig(row, "name")) for row in rows))
            )
            quotas |= {(name, resource): row for resource, row in _quotas(rows) if isinstance(name, str)}
        covered = tuple(str(name) for _, name in items(dig(row, "coveredResources")))
        groups.append(Group(path, covered, tuple(flavors)))
    is_queue = manifest.kind == "ClusterQueue"
    return Member(manifest.name, is_queue, parent(manifest)[1], quotas, manifest=manifest, groups=tuple(groups))


def _quotas(rows: Iterable[Any]) -> Iterator[tuple[str, Quota]]:
    """Yields the quotas of a flavor by resource. Quotas whose nominal quota is not a quantity are left out."""
    for row in rows:
        resource = dig(row, "name")
        if isinstance(resource, str):
            limits = (amount(resource, dig(row, key)) for key in ("nominalQuota", "borrowingLimit", "lendingLimit"))
            nominal, borrow, lend = limits
            if nominal is not None:
                yield resource, Quota(nominal, borrow, lend)
