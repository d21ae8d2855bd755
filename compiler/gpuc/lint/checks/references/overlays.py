"""Node overlays: what they give to the instance types of a node pool, and types of it that they leave out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from gpuc.diagnostics.finding import Path, Severity, fault
from gpuc.manifest.manifest import Manifest
from gpuc.objects.flaw import Flaw
from gpuc.objects.index import Index
from gpuc.objects.label_values import span
from gpuc.objects.node_pools import NODE_POOL, Pool, normal
from gpuc.objects.object_set import dig, items, pairs

LEFT_OUT = fault(
    "REF053",
    Severity.WARNING,
    "Node overlays give a resource to some instance types of a node pool and not to others.",
    "Karpenter takes a node of the other types for one without the resource, and never starts one for work that asks "
    "for it, whatever their price and however few of the first there are.",
    "Karpenter v1.14.1, pkg/controllers/nodeoverlay",
)
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
_FAMILY, _SIZE = "karpenter.k8s.aws/instance-family", "karpenter.k8s.aws/instance-size"
_PROVIDER = "karpenter.k8s.aws/instance-"
_ARCH = "kubernetes.io/arch"
_PROVIDERS_OWN = frozenset(
    (
        "amd.com/gpu",
        "aws.amazon.com/neuron",
        "aws.amazon.com/neuroncore",
        "cpu",
        "ephemeral-storage",
        "habana.ai/gaudi",
        "memory",
        "nvidia.com/gpu",
        "pods",
        "vpc.amazonaws.com/efa",
        "vpc.amazonaws.com/pod-eni",
    )
)
"""What Karpenter's provider gives types by itself (karpenter-provider-aws v1.14.1, pkg/providers/instancetype)."""


@dataclass(slots=True)
class Given:
    """What overlays say of one instance type of a pool."""

    has: set[str] = field(default_factory=set)
    """Resources of which it gets more than nothing."""
    zero: dict[str, Manifest] = field(default_factory=dict)
    """Overlays that say it has none, by resource."""


class Overlays:
    """The overlays of a tree by the pools and types that they name."""

    def __init__(self, index: Index) -> None:
        self._by_value: dict[tuple[str, str], list[Manifest]] = {}
        self._others: list[Manifest] = []
        for overlay in index.tree.of("karpenter.sh", "NodeOverlay"):
            wanted = dict(_listed(overlay))
            key = next((key for key in (NODE_POOL, INSTANCE_TYPE) if key in wanted), "")
            for value in wanted.get(key, ()):
                self._by_value.setdefault((key, value), []).append(overlay)
            if not key:
                self._others.append(overlay)

    def near(self, pool: Pool, name: str) -> Iterator[Manifest]:
        """The overlays that name a pool, or one of its instance types, or neither."""
        for pair in ((NODE_POOL, pool.name), (INSTANCE_TYPE, name)):
            yield from self._by_value.get(pair, ())
        yield from self._others

    def given(self, pool: Pool) -> dict[str, Given]:
        """What each of a pool's instance types is given; nothing for pools that do not list them."""
        types = types_of(pool)
        found = {name: Given() for name in types}
        for name in types:
            for overlay in self.near(pool, name):
                if applies(overlay, pool, name) is not False:
                    for resource, amount in pairs(dig(overlay.body, "spec", "capacity")):
                        if str(amount).strip() in ("0", ""):
                            found[name].zero[resource] = overlay
                        else:
                            found[name].has.add(resource)
        return found


def flaws(index: Index) -> Iterator[Flaw]:
    """Types of pools that lack what overlays give to other types of the same pool."""
    if not index.tree.has("karpenter.sh", "NodeOverlay"):
        return
    overlays = Overlays(index)
    for pool in index.nodes.pools:
        given = overlays.given(pool)
        for resource in sorted(set().union(*(each.has for each in given.values()))):
            without = [name for name, each in given.items() if _lacks(each, resource) and _may_start(pool, name)]
            if without and len(without) < len(given):
                yield from _left_out(pool, resource, without, given)


def types_of(pool: Pool) -> list[str]:
    """The instance types that a pool lists, those left out that its families and sizes exclude."""
    known = pool.spans.get(INSTANCE_TYPE)
    others = [key for key in pool.spans if key.startswith(_PROVIDER) and key not in (_FAMILY, _SIZE)]
    if known is None or known.only is None or others:
        return []
    return sorted(name for name in known.only if known.has(name) and _is_within(pool, name))


def _left_out(pool: Pool, resource: str, without: list[str], given: dict[str, Given]) -> Iterator[Flaw]:
    having = [name for name, each in given.items() if resource in each.has]
    shown = f"{resource} to {', '.join(having)} of NodePool {pool.name}, not to {', '.join(without)}"
    message = f"overlays give {shown}: Karpenter starts none of the latter for work that asks for it"
    zero = [name for name in without if resource in given[name].zero]
    for name in zero:
        yield Flaw(LEFT_OUT, given[name].zero[resource], ("spec", "capacity", resource), message)
    if len(zero) < len(without):
        yield Flaw(LEFT_OUT, pool.manifest, _place(pool), message)


def _lacks(given: Given, resource: str) -> bool:
    """Whether a type has none of a resource, nor another slice of the same maker's devices in its place."""
    if resource in given.has or (resource in _PROVIDERS_OWN and resource not in given.zero):
        return False
    maker, _, name = resource.partition("/")
    return not name or not any(each.startswith(f"{maker}/") for each in given.has)


def _may_start(pool: Pool, name: str) -> bool:
    """Whether a pool starts a type at all, as far as the catalog knows its processor."""
    from gpuc.catalog import load

    known = load().instances.get(name)
    return known is None or pool.gives(_ARCH, known.arch)


def _place(pool: Pool) -> Path:
    path: Path = ("spec", "template", "spec", "requirements")
    for number, each in items(dig(pool.manifest.body, *path)):
        if normal(str(dig(each, "key"))) == INSTANCE_TYPE:
            return (*path, number, "values")
    return path


def _listed(overlay: Manifest) -> Iterator[tuple[str, list[str]]]:
    """Labels of which an overlay lists the values."""
    for _, each in items(dig(overlay.body, "spec", "requirements")):
        key, values = dig(each, "key"), dig(each, "values")
        if isinstance(key, str) and dig(each, "operator") == "In":
            yield normal(key), [value for _, value in items(values) if isinstance(value, str)]


def applies(overlay: Manifest, pool: Pool, name: str) -> bool | None:
    """Whether an overlay is for a type of a pool; None where the tree does not tell."""
    own = {INSTANCE_TYPE: name, NODE_POOL: pool.name, _FAMILY: name.partition(".")[0], _SIZE: name.partition(".")[2]}
    is_sure = True
    for _, each in items(dig(overlay.body, "spec", "requirements")):
        key, operator, values = (dig(each, part) for part in ("key", "operator", "values"))
        key = normal(key) if isinstance(key, str) else ""
        if key in own:
            if operator == "DoesNotExist" or not _takes(operator, values, own[key]):
                return False
        elif key in pool.spans:
            if not pool.fits(key, operator, values):
                return False
        else:
            is_sure = False
    return is_sure or None


def _is_within(pool: Pool, name: str) -> bool:
    own: dict[str, Any] = {_FAMILY: name.partition(".")[0], _SIZE: name.partition(".")[2]}
    return all(key not in pool.spans or pool.spans[key].has(value) for key, value in own.items())


def _takes(operator: Any, values: Any, value: str) -> bool:
    wanted = span(operator, values)
    return wanted is None or wanted.has(value)
