"""The places of quotas of queues: in the spec, or in objects."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.queue import Member
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.quota import Key
from gpuc.manifest.manifest import Manifest
from gpuc.model import PoolQuota
from gpuc.model.names import GPU, mig_resource
from gpuc.rules.queues._units import counted_resources, quota_path

Place = tuple[Path, Manifest | None]
"""A path, and the object with the path; None for a path in the spec."""
_IN_SPEC = {"borrowingLimit": "borrow", "lendingLimit": "lend"}


def counted_keys(member: Member) -> Iterator[Key]:
    """Yields the flavors and resources whose quota a user sets; gpuc computes the other quotas of a spec."""
    for flavor, resource in member.quotas:
        if not member.queue or resource in counted_resources(member.pool_quotas[flavor].pool):
            yield flavor, resource


def place(member: Member, key: Key, field: str) -> Place:
    """Returns the place of a number: of nominalQuota, borrowingLimit or lendingLimit."""
    if (pool_quota := member.pool_quotas.get(key[0])) is None:
        return (*member.path(key), field), member.manifest
    if field in _IN_SPEC:
        return (*pool_quota.path, *_limit(pool_quota, key, field)), None
    return quota_path(pool_quota.path, pool_quota.spec, key[1]), None


def place_words(member: Member, key: Key, field: str) -> str:
    """Returns the place of a limit in words: "lend.1g.10gb of queue research for node pool serve"."""
    pool_quota = member.pool_quotas.get(key[0])
    name = ".".join(_limit(pool_quota, key, field)) if pool_quota else f"{field} of {key[1]}"
    return f"{name} of {member.words} for {member.flavor_words(key[0])}"


def _limit(pool_quota: PoolQuota, key: Key, field: str) -> tuple[str, ...]:
    """Returns the path of a limit below a quota of the spec; the path has a MIG profile if the limit is a map."""
    limit = getattr(pool_quota.spec, _IN_SPEC[field])
    profiles = limit if isinstance(limit, dict) else {}
    return (_IN_SPEC[field], *[name for name in profiles if key[1] in (GPU, mig_resource(name))][:1])
