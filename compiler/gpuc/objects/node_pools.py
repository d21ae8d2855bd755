"""What nodes the node pools of a tree can start: their labels, values of them, and taints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from gpuc.manifest.manifest import Manifest
from gpuc.objects.label_values import Span, span
from gpuc.objects.object_set import ObjectSet, dig, group, items, pairs

NODE_POOL: Final = "karpenter.sh/nodepool"
HOSTNAME: Final = "kubernetes.io/hostname"
_ALIASES = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
}
WELL_KNOWN: dict[str, frozenset[str]] = {
    "karpenter.sh/capacity-type": frozenset(("spot", "on-demand", "reserved")),
    "kubernetes.io/arch": frozenset(("amd64", "arm64")),
    "kubernetes.io/os": frozenset(("linux", "windows")),
    NODE_POOL: frozenset(),
    "node.kubernetes.io/instance-type": frozenset(),
    "node.kubernetes.io/windows-build": frozenset(),
    "topology.k8s.aws/zone-id": frozenset(),
    "topology.kubernetes.io/region": frozenset(),
    "topology.kubernetes.io/zone": frozenset(),
    HOSTNAME: frozenset(),
}
"""Labels that Karpenter gives every node without being told, and their values where those are known
(Karpenter v1.14.1, pkg/apis/v1/labels.go; kubernetes.io/hostname by the kubelet)."""
_PROVIDERS = ("karpenter.k8s.aws/", "karpenter.azure.com/", "karpenter.k8s.gcp/", "eks.amazonaws.com/")
_OTHER_NODES = frozenset(
    (
        ("", "Node"),
        ("cluster.x-k8s.io", "MachineDeployment"),
        ("cluster.x-k8s.io", "MachinePool"),
        ("eks.aws.upbound.io", "NodeGroup"),
        ("eks.services.k8s.aws", "Nodegroup"),
        ("infrastructure.cluster.x-k8s.io", "AWSManagedMachinePool"),
        ("machine.openshift.io", "MachineSet"),
    )
)


def normal(key: str) -> str:
    """The key that Karpenter takes an old one for."""
    return _ALIASES.get(key, key)


def is_well_known(key: str) -> bool:
    """Whether nodes have a label although no pool says so."""
    return key in WELL_KNOWN or key.startswith(_PROVIDERS)


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a pool's nodes, with its place in the list."""

    index: int
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"

    @property
    def keeps_off(self) -> bool:
        """Whether pods that do not tolerate it stay away, not only if they can."""
        return self.effect in ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Pool:
    """A node pool, as its object says."""

    manifest: Manifest
    spans: Mapping[str, Span]
    """Values of every label that the pool gives or restricts."""
    taints: tuple[Taint, ...] = field(default=())
    startup: tuple[Taint, ...] = field(default=())

    @property
    def name(self) -> str:
        return self.manifest.name

    def gives(self, key: str, value: str) -> bool:
        """Whether a node of it can have a label."""
        known = self.spans.get(normal(key))
        if known is not None:
            return known.has(value)
        values = WELL_KNOWN.get(normal(key))
        return value in values if values else is_well_known(normal(key))

    def fits(self, key: str, operator: Any, values: Any) -> bool:
        """Whether a node of it can meet a requirement of a pod."""
        known, wanted = self.spans.get(normal(key)), span(operator, values)
        if operator == "DoesNotExist":
            return known is None or known.only is None
        if wanted is None:
            return True
        if known is not None:
            return known.meets(wanted)
        if operator == "NotIn":
            return True
        few = WELL_KNOWN.get(normal(key))
        return Span(few).meets(wanted) if few else is_well_known(normal(key))


class Nodes:
    """The node pools of a tree, and what is found by them."""

    def __init__(self, tree: ObjectSet) -> None:
        self.pools = tuple(_pool(each) for each in tree.of("karpenter.sh", "NodePool"))
        self.are_all = tree.is_whole or not any((group(each), each.kind) in _OTHER_NODES for each in tree.manifests)
        """Whether nothing else in the tree makes nodes."""

    @cached_property
    def values(self) -> dict[str, dict[str, list[Pool]]]:
        """Pools by every value of every label that they name."""
        found: dict[str, dict[str, list[Pool]]] = {}
        for pool in self.pools:
            for key, known in pool.spans.items():
                for value in known.only or ():
                    found.setdefault(key, {}).setdefault(value, []).append(pool)
        return found

    @cached_property
    def _open(self) -> dict[str, list[Pool]]:
        """Pools by every label that they give without naming its values."""
        found: dict[str, list[Pool]] = {}
        for pool in self.pools:
            for key, known in pool.spans.items():
                if known.only is None:
                    found.setdefault(key, []).append(pool)
        return found

    def giving(self, key: str, value: str) -> Iterable[Pool]:
        """Pools that can start a node with a label."""
        key = normal(key)
        if is_well_known(key) and key != NODE_POOL:
            return [pool for pool in self.pools if pool.gives(key, value)]
        named = self.values.get(key, {}).get(value, ())
        return [pool for pool in (*named, *self._open.get(key, ())) if pool.gives(key, value)]

    def matching(self, labels: Mapping[str, Any]) -> list[Pool]:
        """Pools that can start a node with all labels."""
        texts = [(key, value) for key, value in labels.items() if isinstance(value, str)]
        own = [pair for pair in texts if not is_well_known(normal(pair[0])) or normal(pair[0]) == NODE_POOL]
        some = self.giving(*own[0]) if own else self.pools
        return [pool for pool in some if all(pool.gives(key, value) for key, value in texts)]

    @cached_property
    def keys(self) -> set[str]:
        """Every label that a pool names, or that nodes have anyway."""
        return {*self.values, *self._open, *WELL_KNOWN}


def tolerated(taint: Taint, tolerations: Any) -> bool:
    """Whether one of a list of tolerations lets pods onto a node with a taint."""
    return any(_tolerates(each, taint) for _, each in items(tolerations))


def taints(value: Any) -> tuple[Taint, ...]:
    """The taints of a list, those without a key or effect left out."""
    return tuple(
        Taint(index, key, str(dig(each, "value") or ""), effect)
        for index, each in items(value)
        if isinstance(key := dig(each, "key"), str) and isinstance(effect := dig(each, "effect"), str)
    )


def _tolerates(toleration: Any, taint: Taint) -> bool:
    key, operator = dig(toleration, "key"), dig(toleration, "operator") or "Equal"
    if dig(toleration, "effect") not in (None, "", taint.effect):
        return False
    if not key:
        return bool(operator == "Exists")
    if key != taint.key:
        return False
    return operator != "Equal" or str(dig(toleration, "value") or "") == taint.value


def _pool(manifest: Manifest) -> Pool:
    template = dig(manifest.body, "spec", "template")
    spans: dict[str, Span] = {NODE_POOL: Span(frozenset((manifest.name,)))}
    reference = dig(template, "spec", "nodeClassRef")
    api_group, kind, name = (dig(reference, key) for key in ("group", "kind", "name"))
    if isinstance(api_group, str) and isinstance(kind, str) and isinstance(name, str):
        spans[f"{api_group}/{kind.lower()}"] = Span(frozenset((name,)))
    for key, value in pairs(dig(template, "metadata", "labels")):
        spans[normal(key)] = Span(frozenset((str(value),)))
    for _, each in items(dig(template, "spec", "requirements")):
        key, left = dig(each, "key"), span(dig(each, "operator"), dig(each, "values"))
        if isinstance(key, str) and left is not None:
            spans[normal(key)] = spans.get(normal(key), Span()).within(left)
    spec = dig(template, "spec")
    return Pool(manifest, spans, taints(dig(spec, "taints")), taints(dig(spec, "startupTaints")))
