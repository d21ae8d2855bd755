"""NetworkPolicies as the API server understands them, defaults filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.isolation.addresses import Ranges, read_block
from gpuc.isolation.ports import Ports, read_ports
from gpuc.isolation.selector import Refused, Selector, read_selector
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items

GROUP = "networking.k8s.io"
OTHER_KINDS = {
    "policy.networking.k8s.io": ("AdminNetworkPolicy", "BaselineAdminNetworkPolicy", "ClusterNetworkPolicy"),
    "networking.k8s.aws": ("ApplicationNetworkPolicy", "ClusterNetworkPolicy"),
    "cilium.io": ("CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy"),
    "crd.projectcalico.org": ("NetworkPolicy", "GlobalNetworkPolicy"),
    "projectcalico.org": ("NetworkPolicy", "GlobalNetworkPolicy"),
    "k8s.cni.cncf.io": ("MultiNetworkPolicy",),
}
"""Policies that are not judged, and may open what NetworkPolicies do not, by API group."""


class Peer(NamedTuple):
    """Who may call, or be called."""

    path: Path
    """Where it stands in its policy."""
    pods: Selector = ()
    """Of pods of the selected namespaces."""
    namespaces: Selector | None = None
    """None for the policy's own namespace."""
    block: Ranges | None = None
    """Where not None: addresses, and the selectors mean nothing."""


class Rule(NamedTuple):
    """What is allowed: these peers on these ports."""

    path: Path
    """Where it stands in its policy."""
    peers: tuple[Peer, ...]
    """Empty for everybody."""
    ports: Ports


class Policy(NamedTuple):
    """One NetworkPolicy."""

    manifest: Manifest
    pods: Selector
    """The pods of its namespace that it isolates."""
    rules: Mapping[str, tuple[Rule, ...]]
    """By "ingress" and "egress"; a direction that the policy does not isolate is missing."""

    @property
    def namespace(self) -> str:
        return self.manifest.namespace


def read_policies(manifests: Iterable[Manifest]) -> list[Policy]:
    """The policies that have an effect: one that the API server refuses fences nothing and opens nothing."""
    read = []
    for manifest in manifests:
        try:
            read.append(_policy(manifest))
        except Refused:
            continue
    return read


def _policy(manifest: Manifest) -> Policy:
    """One policy with its defaults.

    Source: k8s.io/api v0.35 networking/v1 NetworkPolicySpec; kubernetes v1.35 pkg/apis/networking/v1/defaults.go
    """
    spec = manifest.body.get("spec")
    if not isinstance(spec, dict):
        raise Refused
    ingress, egress = _rules(spec, "ingress", "from"), _rules(spec, "egress", "to")
    types = spec.get("policyTypes") or (["Ingress", "Egress"] if egress else ["Ingress"])
    if not isinstance(types, list) or any(each not in ("Ingress", "Egress") for each in types):
        raise Refused
    isolated = {"Ingress": ("ingress", ingress), "Egress": ("egress", egress)}
    return Policy(manifest, read_selector(spec.get("podSelector", {})), dict(isolated[each] for each in types))


def _rules(spec: dict[str, Any], direction: str, peers: str) -> tuple[Rule, ...]:
    if not isinstance(spec.get(direction), list | None):
        raise Refused
    rules = []
    for index, raw in items(spec.get(direction)):
        path: Path = ("spec", direction, index)
        if not isinstance(raw, dict) or not isinstance(raw.get(peers), list | None):
            raise Refused
        read = tuple(_peer(peer, (*path, peers, number)) for number, peer in items(raw.get(peers)))
        rules.append(Rule(path, read, read_ports(raw.get("ports"))))
    return tuple(rules)


def _peer(raw: Any, path: Path) -> Peer:
    block, pods, namespaces = (dig(raw, key) for key in ("ipBlock", "podSelector", "namespaceSelector"))
    if block is not None:
        if pods is not None or namespaces is not None:
            raise Refused
        return Peer(path, block=read_block(block))
    if pods is None and namespaces is None:
        raise Refused
    return Peer(
        path,
        read_selector(pods) if pods is not None else (),
        read_selector(namespaces) if namespaces is not None else None,
    )
