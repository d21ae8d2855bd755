"""The change of a cluster: each object before and after the change, the fields that differ, and the changed spec."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Struct

from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import PoolRequirement
from gpuc.cluster.pools import Pools
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import dig, group
from gpuc.plan.differences import MISSING, FieldChange, differences, leaves
from gpuc.plan.impact import Prediction, Raised
from gpuc.plan.state import HELM_VALUES, State

_NOT_SHOWN = "not shown"
_NOUNS = {
    "ClusterQueue": "queue",
    "Cohort": "cohort",
    "LocalQueue": "queue",
    "Namespace": "namespace",
    "NodePool": "node pool",
    "WorkloadPriorityClass": "priority",
    HELM_VALUES: "component",
}
"""The words of the spec for kinds of objects."""
_COMPONENTS = {"ClusterPolicy": "component gpu-operator", "Config": "component gatekeeper"}
"""The components to which the only object of a kind belongs."""
Key = tuple[str, str, str, str]
"""API group, kind, namespace and name. An object without a namespace is in the namespace default."""


class Pair(Struct, frozen=True, eq=False, dict=True):
    """An object before and after a change. `before` is None for an added object, `after` for a removed object."""

    before: Manifest | None
    after: Manifest | None

    @property
    def manifest(self) -> Manifest:
        """The object after the change, or the removed object."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def namespace(self) -> str:
        return self.manifest.namespace

    @property
    def element(self) -> str:
        """The name of the queue in the spec for a ClusterQueue or LocalQueue; for other objects, the object's name."""
        match self.manifest.origin:
            case ("spec", "queues", str(name)):
                return name
        return self.name

    @property
    def subject(self) -> str:
        """The object in the words of the spec: "queue research". If the spec has no word for the kind, "KIND NAME".

        A ResourceFlavor that gpuc emitted is called by its node pool: "node pool train-h100". Another ResourceFlavor is
        called "flavor NAME".
        """
        kind = self.manifest.kind
        if kind == "ResourceFlavor":
            is_pool = dig(self.manifest.body, "spec", "nodeLabels", POOL_LABEL) == self.name
            return f"{'node pool' if is_pool else 'flavor'} {self.name}"
        return _COMPONENTS.get(kind) or f"{_NOUNS.get(kind, kind)} {self.element}"

    def raised(
        self, message: str, path: Path = (), details: Iterable[str] = (), predicts: Iterable[Prediction] = ()
    ) -> Raised:
        """Returns an impact that is caused by the value at a path of this object."""
        return Raised(self.subject, message, self.manifest, path, tuple(details), tuple(predicts))

    @property
    def is_added(self) -> bool:
        return self.before is None

    @property
    def is_removed(self) -> bool:
        return self.after is None

    @property
    def is_changed(self) -> bool:
        """Whether the object exists before and after the change, and at least one field differs."""
        return not self.is_added and not self.is_removed and bool(self.fields)

    @cached_property
    def fields(self) -> tuple[FieldChange, ...]:
        """The fields that differ. For an added or removed object, the result is one field with an empty path.

        The values of a Secret are replaced by "not shown", because reports are published in comments and logs.
        """
        if self.before is self.after:
            return ()
        before = MISSING if self.before is None else self.before.document()
        after = MISSING if self.after is None else self.after.document()
        found = differences(before, after)
        return tuple(map(_without_values, found) if self.manifest.kind == "Secret" else found)

    @cached_property
    def leaves(self) -> tuple[FieldChange, ...]:
        """The fields that differ. For an added or removed map, the result has each scalar and each list in the map."""
        return tuple(leaf for field in self.fields for leaf in leaves(field))

    def holder(self, field: FieldChange) -> Manifest:
        """Returns the object with a changed field: the object before the change if the change removes the field."""
        return self.before if field.after is MISSING and self.before else self.manifest

    def changes(self, *prefix: str | int) -> bool:
        """Returns whether a field at a path or below the path differs. False for added and removed objects."""
        return self.is_changed and any(field.is_below(*prefix) for field in self.fields)

    def values(self, *path: str | int) -> tuple[Any, Any]:
        """Returns the values at a path before and after the change; None where the path does not exist."""
        before = None if self.before is None else dig(self.before.document(), *path)
        return before, None if self.after is None else dig(self.after.document(), *path)


class PoolPair(Pair, frozen=True, eq=False):
    """A NodePool object before and after the change."""

    old: Pool | None
    new: Pool | None

    @property
    def element(self) -> str:
        """The name of the node pool in the spec, from a label of the nodes; without the label, the NodePool's name."""
        names = (pool.of_spec for pool in (self.new, self.old) if pool)
        return next(filter(None, names), self.name)

    @property
    def requirements(self) -> tuple[dict[str, PoolRequirement], dict[str, PoolRequirement]]:
        """The requirements of the NodePool for labels of nodes, before and after the change: two maps by label."""
        rows = (pool.requirements if pool else () for pool in (self.old, self.new))
        before, after = ({row.key: row for row in requirements} for requirements in rows)
        return before, after

    def labels(self, key: str) -> tuple[str | None, str | None]:
        """Returns the value of a label of the nodes before and after the change; None without the label."""
        before, after = (pool.labels.get(key) if pool else None for pool in (self.old, self.new))
        return before, after

    @property
    def is_static(self) -> bool:
        """Whether the NodePool has a fixed number of nodes after the change, so that no consolidation removes nodes."""
        return self.new is not None and self.new.is_static


class Change(Struct, frozen=True, eq=False, dict=True):
    """The change of one cluster: the states before and after. The functions that find impacts get this object."""

    before: State
    after: State
    workloads: tuple[Manifest, ...] = ()
    """The objects of users that run in the cluster, from --workloads."""
    other_name: str = ""
    """The name of the same Kubernetes cluster in the other state, if the change renames the cluster."""

    def pairs(self, api_group: str, kind: str) -> Iterator[Pair]:
        """Yields each object of a kind as a pair (object before, object after), also if the object does not change.

        The objects of the state after come first. Then the removed objects follow.

        Args:
            api_group: the API group; the core group is the empty string.
        """
        for (of_group, of_kind, _, _), pair in self._pairs.items():
            if (of_group, of_kind) == (api_group, kind):
                yield pair

    def pair(self, api_group: str, kind: str, name: str, namespace: str = "") -> Pair | None:
        """Returns an object before and after the change; None if neither state has the object."""
        return self._pairs.get(_key(api_group, kind, namespace, name))

    @property
    def all_pairs(self) -> Iterator[Pair]:
        """Every object of the states before and after the change, and the Helm values of every chart, as pairs."""
        return iter(self._pairs.values())

    def kept(self, api_group: str, kind: str) -> Iterator[Pair]:
        """Yields the objects of a kind that exist before and after the change, as pairs."""
        return (pair for pair in self.pairs(api_group, kind) if pair.before and pair.after)

    def values_of(self, component: str) -> Pair | None:
        """Returns the Helm values of a component before and after the change; None if neither state has Helm values."""
        return self.pair("", HELM_VALUES, component)

    @cached_property
    def pools(self) -> tuple[PoolPair, ...]:
        """The NodePools of the states before and after the change, as pairs."""
        old, new = (
            {pool.name: pool for pool in state.objects.once(Pools).pools} for state in (self.before, self.after)
        )
        pairs = self.pairs(KARPENTER, "NodePool")
        return tuple(PoolPair(pair.before, pair.after, old.get(pair.name), new.get(pair.name)) for pair in pairs)

    def helm_values(self) -> Iterator[Pair]:
        """Yields the Helm values of each chart, as a pair (values before, values after)."""
        return self.pairs("", HELM_VALUES)

    @cached_property
    def spec_changes(self) -> tuple[FieldChange, ...]:
        """The values of the spec, layers included, that the change adds, changes or removes; empty without a spec."""
        if self.before.source is None or self.after.source is None:
            return ()
        return tuple(
            leaf for changed in differences(self.before.source.tree, self.after.source.tree) for leaf in leaves(changed)
        )

    def changed_paths(self, *prefix: str | int) -> list[Path]:
        """Returns the paths of all changed values of the spec that are at a path or below this path."""
        return [changed.path for changed in self.spec_changes if changed.is_below(*prefix)]

    @property
    def is_new(self) -> bool:
        """Whether the change adds the cluster."""
        return not self.before.exists and self.after.exists

    @property
    def is_removed(self) -> bool:
        """Whether the change removes the cluster."""
        return self.before.exists and not self.after.exists

    @cached_property
    def _pairs(self) -> dict[Key, Pair]:
        before, after = _by_key(self.before), _by_key(self.after)
        return {key: Pair(before.get(key), after.get(key)) for key in dict.fromkeys((*after, *before))}


class ChangedValue(NamedTuple):
    """A value at a path of an object that a change sets, changes or removes; None where the path does not exist."""

    pair: Pair
    path: Path
    before: Any
    after: Any

    def raised(self, message: str, details: Iterable[str] = (), predicts: Iterable[Prediction] = ()) -> Raised:
        """Returns an impact that is caused by this value."""
        return self.pair.raised(message, self.path, details, predicts)


def changed(pairs: Iterable[Pair], path: Path, default: Any = None) -> Iterator[ChangedValue]:
    """Yields each object that exists before and after the change and whose value at a path differs.

    Args:
        default: the value for an object without the path.
    """
    for pair in pairs:
        before, after = (default if value is None else value for value in pair.values(*path))
        if pair.before and pair.after and before != after:
            yield ChangedValue(pair, path, before, after)


def _without_values(field: FieldChange) -> FieldChange:
    values = (value if value is MISSING else _NOT_SHOWN for value in (field.before, field.after))
    return FieldChange(field.path, *values)


def _by_key(state: State) -> dict[Key, Manifest]:
    manifests = (*state.objects.manifests, *state.first_sync, *state.values)
    return {_key(group(manifest), manifest.kind, manifest.namespace, manifest.name): manifest for manifest in manifests}


def _key(api_group: str, kind: str, namespace: str, name: str) -> Key:
    # A cluster-scoped kind has no object with a namespace, so the kind does not matter.
    return api_group, kind, "" if namespace == "default" else namespace, name
