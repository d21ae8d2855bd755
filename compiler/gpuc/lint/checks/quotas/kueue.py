"""ClusterQueues and Cohorts as one forest of quotas, with what each of them can reach.

Source: kueue v0.19.2 pkg/cache/scheduler/resource_node.go (subtree quota, local quota, potential availability)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amount import amount
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items

GROUP = "kueue.x-k8s.io"
Key = tuple[str, str]
"""Flavor and resource."""


class Quota(NamedTuple):
    """What one queue or cohort has of one resource of one flavor, in billionths."""

    nominal: int
    borrowing: int | None
    lending: int | None
    path: Path
    """Of the entry in the object: ("spec", "resourceGroups", 0, "flavors", 1, "resources", 2)."""


@dataclass(slots=True, eq=False)
class Member:
    """A ClusterQueue, or a Cohort; one that is only referred to has no object."""

    name: str
    manifest: Manifest | None
    is_queue: bool
    parent: str
    quotas: dict[Key, Quota] = field(default_factory=dict)
    above: Member | None = None
    children: list[Member] = field(default_factory=list)
    subtree: dict[Key, int] = field(default_factory=dict)
    """Own nominal quota and what the children lend."""
    potential: dict[Key, int] = field(default_factory=dict)
    """The most that it can use while nobody else uses anything."""

    def kept(self, key: Key) -> int:
        """What it never lends to its parent."""
        quota = self.quotas.get(key)
        if quota is None or quota.lending is None:
            return 0
        return max(0, self.subtree.get(key, 0) - quota.lending)

    def flavors(self) -> dict[str, dict[str, Quota]]:
        """Its quotas by flavor and resource."""
        found: dict[str, dict[str, Quota]] = {}
        for (flavor, resource), quota in self.quotas.items():
            found.setdefault(flavor, {})[resource] = quota
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """All that can share: a root cohort with everything beneath it, or one queue without a cohort."""

    root: Member
    members: tuple[Member, ...]
    """From the root down."""

    @property
    def queues(self) -> list[Member]:
        """Its ClusterQueues."""
        return [each for each in self.members if each.is_queue]

    def __str__(self) -> str:
        return f"{'queue' if self.root.is_queue else 'cohort'} {self.root.name}"


def families(tree: ObjectSet) -> list[Family]:
    """Every root with its members; cohorts in a circle, which Kueue does not serve, belong to none."""
    cohorts: dict[str, Member] = {}
    for each in tree.of(GROUP, "Cohort"):
        cohorts[each.name] = _member(each, "parentName", is_queue=False)
    queues = [_member(each, "cohortName", is_queue=True) for each in tree.of(GROUP, "ClusterQueue")]
    waiting = [*cohorts.values(), *queues]
    for member in waiting:
        if member.parent and member.parent not in cohorts:
            cohorts[member.parent] = Member(member.parent, None, is_queue=False, parent="")
        if member.parent:
            member.above = cohorts[member.parent]
            member.above.children.append(member)
    roots = [each for each in (*cohorts.values(), *queues) if each.above is None]
    return [_family(root) for root in roots]


def _member(manifest: Manifest, parent: str, *, is_queue: bool) -> Member:
    name = dig(manifest.body, "spec", parent)
    if not isinstance(name, str):
        name = dig(manifest.body, "spec", "cohort" if is_queue else "parent")  # v1beta1
    found = Member(manifest.name, manifest, is_queue, name if isinstance(name, str) else "")
    found.quotas.update(_quotas(dig(manifest.body, "spec", "resourceGroups")))
    return found


def _quotas(groups: Any) -> Iterator[tuple[Key, Quota]]:
    for number, group in items(groups):
        for index, flavor in items(dig(group, "flavors")):
            for place, row in items(dig(flavor, "resources")):
                name, resource, nominal = dig(flavor, "name"), dig(row, "name"), amount(dig(row, "nominalQuota"))
                if isinstance(name, str) and isinstance(resource, str) and nominal is not None:
                    path = ("spec", "resourceGroups", number, "flavors", index, "resources", place)
                    borrowing, lending = amount(dig(row, "borrowingLimit")), amount(dig(row, "lendingLimit"))
                    yield (name, resource), Quota(nominal, borrowing, lending, path)


def _family(root: Member) -> Family:
    members = [root]
    for member in members:
        members += member.children
    for member in reversed(members):
        for key, quota in member.quotas.items():
            member.subtree[key] = member.subtree.get(key, 0) + quota.nominal
        if member.above is not None:
            above = member.above.subtree
            for key, total in member.subtree.items():
                above[key] = above.get(key, 0) + total - member.kept(key)
    for member in members:
        for key, total in (member.subtree if member.above is None or member.is_queue else _reachable(member)).items():
            member.potential[key] = _potential(member, key, total)
    return Family(root, tuple(members))


def _reachable(member: Member) -> dict[Key, int]:
    """The subtree quotas of a cohort, with nothing of what only its parent has."""
    assert member.above is not None
    return {key: member.subtree.get(key, 0) for key in (*member.above.potential, *member.subtree)}


def _potential(member: Member, key: Key, total: int) -> int:
    if member.above is None:
        return total
    most = member.kept(key) + member.above.potential.get(key, 0)
    quota = member.quotas.get(key)
    if quota is not None and quota.borrowing is not None:
        most = min(most, total + quota.borrowing)
    return most
