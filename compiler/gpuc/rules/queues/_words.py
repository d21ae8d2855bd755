"""Words and places of queues: in the units of the spec, or in the resources of objects."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.queue import Member
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import rounded
from gpuc.kubernetes.quota import Key
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import GPU, mig_resource
from gpuc.rules.queues._units import amount_in_unit, counted_resources, quota_path, unit_of, with_unit
from gpuc.spec.queues import Quota

Place = tuple[Path, Manifest | None]
"""A path, and the object with the path; None for a path in the spec."""
_IN_SPEC = {"borrowingLimit": "borrow", "lendingLimit": "lend"}


def owner(member: Member) -> str:
    """Returns a queue in words: "queue research", or "ClusterQueue research" for an object."""
    return f"queue {member.queue.name}" if member.queue else str(member.manifest or f"cohort {member.name}")


def counted_keys(member: Member) -> Iterator[Key]:
    """Yields the flavors and resources whose quota a user sets; gpuc computes the other quotas of a spec."""
    if member.queue is None:
        yield from member.quotas
    for name, pool_quota in member.pool_quotas.items():
        yield from (
            (name, resource) for resource in counted_resources(pool_quota.pool) if (name, resource) in member.quotas
        )


def flavor_words(member: Member, flavor: str) -> str:
    """Returns a flavor in words: "node pool train", or "ResourceFlavor train" for an object."""
    return f"{'node pool' if member.queue else 'ResourceFlavor'} {flavor}"


def unit(member: Member, key: Key) -> str:
    """Returns what a quota counts: "nodes" or "GPUs" in the spec, or the resource."""
    quota = _spec_quota(member, key)
    pool_quota = member.pool_quotas.get(key[0])
    return unit_of(pool_quota.pool, key[1], in_nodes=quota.nodes is not None) if quota and pool_quota else key[1]


def amount_words(member: Member, key: Key, count: int) -> str:
    """Returns an amount with its unit: "4 nodes", or "32 nvidia.com/gpu"."""
    quota, pool_quota = _spec_quota(member, key), member.pool_quotas.get(key[0])
    if quota is None or pool_quota is None:
        return rounded(key[1], count)
    in_unit = amount_in_unit(pool_quota.pool, key[1], count, in_nodes=quota.nodes is not None)
    return with_unit(in_unit, unit(member, key))


def number(member: Member, key: Key, count: int) -> str:
    """Returns an amount without its unit."""
    return amount_words(member, key, count).partition(" ")[0]


def place(member: Member, key: Key, field: str) -> Place:
    """Returns the place of a number: of nominalQuota, borrowingLimit or lendingLimit."""
    quota, pool_quota = _spec_quota(member, key), member.pool_quotas.get(key[0])
    if quota is None or pool_quota is None:
        return (*member.path(key), field), member.manifest
    if field in _IN_SPEC:
        return (*pool_quota.path, *_limit(quota, key, field)), None
    return quota_path(pool_quota.path, quota, key[1]), None


def place_words(member: Member, key: Key, field: str) -> str:
    """Returns the place of a limit in words: "lend.1g.10gb of queue research for node pool serve"."""
    quota = _spec_quota(member, key)
    of = f"of {owner(member)} for {flavor_words(member, key[0])}"
    return f"{'.'.join(_limit(quota, key, field))} {of}" if quota else f"{field} of {key[1]} {of}"


def _limit(quota: Quota, key: Key, field: str) -> tuple[str, ...]:
    """Returns the path of a limit below a quota of the spec; the path has a MIG profile if the limit is a map."""
    limit = getattr(quota, _IN_SPEC[field])
    profiles = limit if isinstance(limit, dict) else {}
    profile = next(((name,) for name in profiles if key[1] in (GPU, mig_resource(name))), ())
    return (_IN_SPEC[field], *profile)


def _spec_quota(member: Member, key: Key) -> Quota | None:
    return member.queue.spec.quota.get(key[0]) if member.queue else None
