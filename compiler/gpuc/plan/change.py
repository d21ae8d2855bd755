"""The change of a cluster: the objects of both states in pairs, field by field, and the changed spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import PoolRequirement
from gpuc.cluster.pools import Pools
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, group
from gpuc.plan.state import HELM_VALUES, State


class Missing:
    """The type of MISSING."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""The value of a field that a document does not have."""
IDENTITIES = ("name", "key", "id", "type")
"""The fields that identify the items of a list of maps, if their values are unique in both lists."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field whose values differ. Lists of scalars are one value; the items of other lists are compared."""

    path: Path
    """The path in the document after the change; in the document before the change, if the field was removed."""
    before: Any
    """The value before the change, or MISSING."""
    after: Any
    """The value after the change, or MISSING."""

    def is_below(self, *prefix: str | int) -> bool:
        """Returns whether the field is at a path or below the path."""
        return self.path[: len(prefix)] == prefix


def differences(before: Any, after: Any) -> Iterator[FieldChange]:
    """Yields the fields that differ, in the order of the document after the change, then the removed fields.

    A map that only one document has is one field.
    """
    yield from _differences(before, after, (), ())


def leaves(change: FieldChange) -> Iterator[FieldChange]:
    """Yields a change for each scalar or list of an added or removed map; any other change as it is."""
    present = change.after if change.before is MISSING else change.before
    if isinstance(present, dict) and present and MISSING in (change.before, change.after):
        for key, value in present.items():
            inner = (MISSING, value) if change.before is MISSING else (value, MISSING)
            yield from leaves(FieldChange((*change.path, key), *inner))
        return
    yield change


def _differences(before: Any, after: Any, old: Path, new: Path) -> Iterator[FieldChange]:
    """Yields the fields that differ.

    Args:
        old: the path in the document before the change. It differs from `new` where the items of a list move.
        new: the path in the document after the change.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (*after, *(key for key in before if key not in after)):
            yield from _differences(before.get(key, MISSING), after.get(key, MISSING), (*old, key), (*new, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_differences(before, after, old, new)
    elif not _is_same(before, after):
        yield FieldChange(old if after is MISSING else new, before, after)


def _list_differences(before: list[Any], after: list[Any], old: Path, new: Path) -> Iterator[FieldChange]:
    if not all(isinstance(item, dict | list) for item in (*before, *after)) or not before or not after:
        if not _is_same(before, after):
            yield FieldChange(new, before, after)
        return
    field = _identity(before, after)
    rows: list[dict[Any, int]]
    rows = [{item[field] if field else index: index for index, item in enumerate(items)} for items in (before, after)]
    is_different = False
    for name in (*rows[1], *(name for name in rows[0] if name not in rows[1])):
        i, j = (indexes.get(name, 0) for indexes in rows)
        values = before[i] if name in rows[0] else MISSING, after[j] if name in rows[1] else MISSING
        for change in _differences(*values, (*old, i), (*new, j)):
            is_different = True
            yield change
    # The order of containers, environment variables, flavors and rules has a meaning.
    if not is_different and list(rows[0]) != list(rows[1]):
        yield FieldChange(new, before, after)


def _is_same(before: Any, after: Any) -> bool:
    """Returns whether two values are equal and have equal types: 1 is not true."""
    if type(before) is not type(after):
        return False
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(_is_same(value, after[key]) for key, value in before.items())
    if isinstance(before, list):
        return len(before) == len(after) and all(map(_is_same, before, after))
    return bool(before == after)


def _identity(before: list[Any], after: list[Any]) -> str | None:
    """Returns the field that identifies the items of both lists; None if there is no such field."""
    for field in IDENTITIES:
        if all(_is_unique(field, items) for items in (before, after)):
            return field
    return None


def _is_unique(field: str, items: list[Any]) -> bool:
    values = [item.get(field) if isinstance(item, dict) else None for item in items]
    return all(isinstance(value, str) for value in values) and len(set(values)) == len(values)


_NOT_SHOWN = "not shown"
Key = tuple[str, str, str, str]
"""API group, kind, namespace and name. An object without a namespace is in the namespace default."""


@dataclass(frozen=True, eq=False)
class Pair:
    """An object before and after the change. One of the two is None if the object is added or removed."""

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
    def is_added(self) -> bool:
        return self.before is None

    @property
    def is_removed(self) -> bool:
        return self.after is None

    @property
    def is_changed(self) -> bool:
        """Whether both states have the object, and a field differs."""
        return not self.is_added and not self.is_removed and bool(self.fields)

    @cached_property
    def fields(self) -> tuple[FieldChange, ...]:
        """The fields that differ. An added or removed object is one field with an empty path.

        The values of a Secret are not shown, because reports become comments and logs.
        """
        if self.before is self.after:
            return ()
        before = MISSING if self.before is None else self.before.document()
        after = MISSING if self.after is None else self.after.document()
        found = differences(before, after)
        return tuple(map(_without_values, found) if self.manifest.kind == "Secret" else found)

    @cached_property
    def leaves(self) -> tuple[FieldChange, ...]:
        """The fields that differ: instead of an added or removed map, its scalars and lists."""
        return tuple(leaf for field in self.fields for leaf in leaves(field))

    def changes(self, *prefix: str | int) -> bool:
        """Returns whether a field at a path or below the path differs. False for added and removed objects."""
        return self.is_changed and any(field.is_below(*prefix) for field in self.fields)

    def values(self, *path: str | int) -> tuple[Any, Any]:
        """Returns the values at a path before and after the change; None where the path does not exist."""
        before = None if self.before is None else dig(self.before.document(), *path)
        return before, None if self.after is None else dig(self.after.document(), *path)


@dataclass(frozen=True, eq=False)
class PoolPair(Pair):
    """A NodePool before and after the change."""

    old: Pool | None
    new: Pool | None

    @property
    def pool(self) -> str:
        """The node pool of the NodePool: the label of its nodes, else the name of the object."""
        names = (pool.of_spec for pool in (self.new, self.old) if pool)
        return next(filter(None, names), self.name)

    @property
    def requirements(self) -> tuple[dict[str, PoolRequirement], dict[str, PoolRequirement]]:
        """The requirements for the labels of the nodes before and after the change, by label."""
        rows = (pool.requirements if pool else () for pool in (self.old, self.new))
        before, after = ({row.key: row for row in requirements} for requirements in rows)
        return before, after

    def labels(self, key: str) -> tuple[str | None, str | None]:
        """Returns the value of a label of the nodes before and after the change; None without the label."""
        before, after = (pool.labels.get(key) if pool else None for pool in (self.old, self.new))
        return before, after

    @property
    def is_static(self) -> bool:
        """Whether the NodePool has a fixed number of nodes, which Karpenter does not consolidate."""
        return self.new is not None and self.new.is_static


@dataclass(frozen=True, eq=False)
class Change:
    """Everything that impacts are computed from."""

    before: State
    after: State
    workloads: tuple[Manifest, ...] = ()
    """The objects of users that run in the cluster, from --workloads."""
    other_name: str = ""
    """The name of the same EKS cluster in the other state, if the change renames the cluster."""

    def pairs(self, api_group: str, kind: str) -> Iterator[Pair]:
        """Yields the objects of a kind in pairs, also the unchanged ones: those of the state after, then removed ones.

        Args:
            api_group: the API group; the core group is the empty string.
        """
        for (of_group, of_kind, _, _), pair in self._pairs.items():
            if (of_group, of_kind) == (api_group, kind):
                yield pair

    def pair(self, api_group: str, kind: str, name: str, namespace: str = "") -> Pair | None:
        """Returns the pair of an object; None if neither state has the object."""
        return self._pairs.get(_key(api_group, kind, namespace, name))

    @property
    def all_pairs(self) -> Iterator[Pair]:
        """All objects in pairs, and the Helm values of the charts."""
        return iter(self._pairs.values())

    def kept(self, api_group: str, kind: str) -> Iterator[Pair]:
        """Yields the objects of a kind that both states have, in pairs."""
        return (pair for pair in self.pairs(api_group, kind) if pair.before and pair.after)

    def values_of(self, component: str) -> Pair | None:
        """Returns the Helm values of a component; None if neither state has them."""
        return self.pair("", HELM_VALUES, component)

    @cached_property
    def pools(self) -> tuple[PoolPair, ...]:
        """The NodePools in pairs."""
        old, new = (
            {pool.name: pool for pool in state.objects.once(Pools).pools} for state in (self.before, self.after)
        )
        pairs = self.pairs(KARPENTER, "NodePool")
        return tuple(PoolPair(pair.before, pair.after, old.get(pair.name), new.get(pair.name)) for pair in pairs)

    def helm_values(self) -> Iterator[Pair]:
        """Yields the Helm values of each chart in pairs."""
        return self.pairs("", HELM_VALUES)

    @cached_property
    def spec_changes(self) -> tuple[FieldChange, ...]:
        """The values of the merged spec that differ."""
        if self.before.source is None or self.after.source is None:
            return ()
        return tuple(
            leaf for changed in differences(self.before.source.tree, self.after.source.tree) for leaf in leaves(changed)
        )

    def changed_paths(self, *prefix: str | int) -> list[Path]:
        """Returns the paths of the values of the spec that differ, at a path or below the path."""
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


def _without_values(field: FieldChange) -> FieldChange:
    values = (value if value is MISSING else _NOT_SHOWN for value in (field.before, field.after))
    return FieldChange(field.path, *values)


def _by_key(state: State) -> dict[Key, Manifest]:
    manifests = (*state.objects.manifests, *state.first_sync, *state.values)
    return {_key(group(manifest), manifest.kind, manifest.namespace, manifest.name): manifest for manifest in manifests}


def _key(api_group: str, kind: str, namespace: str, name: str) -> Key:
    # A cluster-scoped kind has no object with a namespace, so the kind does not matter.
    return api_group, kind, "" if namespace == "default" else namespace, name
