"""ResourceQuotas that count the pods on one node pool without GPUs. They select the pods by a PriorityClass."""

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.kubernetes.amounts import CPU, amount
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import POOL_CLASS
from gpuc.objects.object_set import ObjectSet, dig, items


class PoolPart(NamedTuple):
    """The ResourceQuota that limits the pods of one namespace on one node pool without GPUs."""

    pool: str
    """The name of the pool in the spec."""
    quota: Manifest
    cpu: int
    """The cpu for pods of the namespace, in milli cores."""


def pool_parts(objects: ObjectSet) -> tuple[PoolPart, ...]:
    """Returns the ResourceQuotas in all namespaces that count the pods on one node pool without GPUs."""
    return tuple(_parts(objects))


def _parts(objects: ObjectSet) -> Iterator[PoolPart]:
    for quota in objects.of("", "ResourceQuota"):
        scopes = [scope for _, scope in items(dig(quota.body, "spec", "scopeSelector", "matchExpressions"))]
        names = [str(name) for scope in scopes for _, name in items(dig(scope, "values"))]
        cpu = amount(CPU, dig(quota.body, "spec", "hard", "requests.cpu"))
        is_in = [(dig(scope, "scopeName"), dig(scope, "operator")) for scope in scopes] == [("PriorityClass", "In")]
        if is_in and len(names) == 1 and names[0].startswith(POOL_CLASS) and cpu:
            yield PoolPart(names[0].removeprefix(POOL_CLASS), quota, cpu)
