"""The NetworkPolicies of objects, read into the values of gpuc.kubernetes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.addresses import block
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, NetworkPolicy, Peer, TrafficRule
from gpuc.kubernetes.ports import ALL, span
from gpuc.kubernetes.refused import Refused
from gpuc.manifest.manifest import Manifest
from gpuc.objects.selectors import read_selector

GROUP = "networking.k8s.io"
OTHER_KINDS = {
    "policy.networking.k8s.io": ("AdminNetworkPolicy", "BaselineAdminNetworkPolicy", "ClusterNetworkPolicy"),
    "networking.k8s.aws": ("ApplicationNetworkPolicy", "ClusterNetworkPolicy"),
    "cilium.io": ("CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy"),
    "crd.projectcalico.org": ("NetworkPolicy", "GlobalNetworkPolicy"),
    "projectcalico.org": ("NetworkPolicy", "GlobalNetworkPolicy"),
    "k8s.cni.cncf.io": ("MultiNetworkPolicy",),
}
"""Policies that are not evaluated, and may open what NetworkPolicies do not, by API group."""


@dataclass(frozen=True)
class Policy(NetworkPolicy):
    """A NetworkPolicy with its object."""

    manifest: Manifest


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
    spec = _map(manifest.body.get("spec"))
    rules = {INGRESS: _rules(spec, INGRESS, "from"), EGRESS: _rules(spec, EGRESS, "to")}
    types = _list(spec, "policyTypes") or (["Ingress", "Egress"] if rules[EGRESS] else ["Ingress"])
    if any(each not in ("Ingress", "Egress") for each in types):
        raise Refused(f"policyTypes {types}")
    isolated = {each.lower(): rules[each.lower()] for each in types}
    return Policy(manifest.namespace, read_selector(spec.get("podSelector", {})), isolated, manifest)


def _rules(spec: dict[str, Any], direction: str, peers: str) -> tuple[TrafficRule, ...]:
    rules = []
    for index, raw in enumerate(_list(spec, direction)):
        path: Path = ("spec", direction, index)
        read = tuple(_peer(_map(peer), (*path, peers, number)) for number, peer in enumerate(_list(_map(raw), peers)))
        ports = tuple(
            span(port.get("protocol", "TCP"), port.get("port"), port.get("endPort"))
            for port in map(_map, _list(raw, "ports"))
        )
        rules.append(TrafficRule(path, read, ports or ALL))
    return tuple(rules)


def _peer(raw: dict[str, Any], path: Path) -> Peer:
    addresses, pods, namespaces = (raw.get(key) for key in ("ipBlock", "podSelector", "namespaceSelector"))
    if (addresses is None) == (pods is None and namespaces is None):
        raise Refused(f"peer {raw}")
    if addresses is not None:
        texts = [_map(addresses).get("cidr"), *_list(addresses, "except")]
        if not all(isinstance(text, str) for text in texts):
            raise Refused(f"ipBlock {addresses}")
        return Peer(path, block=block(texts[0], texts[1:]))
    return Peer(
        path,
        read_selector(pods) if pods is not None else (),
        read_selector(namespaces) if namespaces is not None else None,
    )


def _map(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise Refused(f"{raw} is no map")
    return raw


def _list(raw: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(raw.get(key), list | None):
        raise Refused(f"{key} is no list")
    return raw.get(key) or []
