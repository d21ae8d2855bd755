"""Converts NetworkPolicy objects into the classes of gpuc.kubernetes.network_policy."""

from collections.abc import Iterable
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.addresses import Ranges, block
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, NetworkPolicy, Peer, TrafficRule
from gpuc.kubernetes.ports import ALL, span
from gpuc.kubernetes.selector import Invalid
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import home_namespace
from gpuc.objects.selectors import read_selector

GROUP = "networking.k8s.io"


class Policy(NetworkPolicy, frozen=True):
    """A network policy, together with the object that contains it."""

    manifest: Manifest


def read_policies(manifests: Iterable[Manifest]) -> list[Policy]:
    """Returns the valid policies in objects. Leaves out policies that the API server would reject."""
    policies = []
    for manifest in manifests:
        try:
            policies.append(_policy(manifest))
        except Invalid:
            continue
    return policies


def _policy(manifest: Manifest) -> Policy:
    """Returns the policy of an object, with default values for missing fields.

    Source: k8s.io/api v0.35 networking/v1 NetworkPolicySpec; kubernetes v1.35 pkg/apis/networking/v1/defaults.go
    """
    spec = map_of(manifest.body.get("spec"))
    rules = {INGRESS: _rules(spec, INGRESS, "from"), EGRESS: _rules(spec, EGRESS, "to")}
    types = members(spec, "policyTypes") or (["Ingress", "Egress"] if rules[EGRESS] else ["Ingress"])
    if any(policy_type not in ("Ingress", "Egress") for policy_type in types):
        raise Invalid(f"policyTypes {types}")
    isolated = {policy_type.lower(): rules[policy_type.lower()] for policy_type in types}
    return Policy(home_namespace(manifest), read_selector(spec.get("podSelector", {})), isolated, manifest)


def _rules(spec: dict[str, Any], direction: str, peers: str) -> tuple[TrafficRule, ...]:
    rules = []
    for index, raw in enumerate(members(spec, direction)):
        path: Path = ("spec", direction, index)
        allowed = tuple(
            _peer(map_of(peer), (*path, peers, number)) for number, peer in enumerate(members(map_of(raw), peers))
        )
        ports = tuple(
            span(port.get("protocol", "TCP"), port.get("port"), port.get("endPort"))
            for port in map(map_of, members(raw, "ports"))
        )
        rules.append(TrafficRule(path, allowed, ports or ALL))
    return tuple(rules)


def _peer(raw: dict[str, Any], path: Path) -> Peer:
    addresses, pods, namespaces = (raw.get(key) for key in ("ipBlock", "podSelector", "namespaceSelector"))
    if (addresses is None) == (pods is None and namespaces is None):
        raise Invalid(f"peer {raw}")
    if addresses is not None:
        return Peer(path, block=read_block(map_of(addresses)))
    return Peer(
        path,
        read_selector(pods) if pods is not None else (),
        read_selector(namespaces) if namespaces is not None else None,
    )


def read_block(raw: dict[str, Any]) -> Ranges:
    """Returns the IP addresses of an ipBlock, a map with the keys cidr and except.

    Raises:
        Invalid: if the API server rejects the map.
    """
    texts = [raw.get("cidr"), *members(raw, "except")]
    if not all(isinstance(text, str) for text in texts):
        raise Invalid(f"addresses {raw}")
    return block(texts[0], texts[1:])


def map_of(raw: Any) -> dict[str, Any]:
    """Returns the value unchanged if it is a map.

    Raises:
        Invalid: if the value is not a map.
    """
    if not isinstance(raw, dict):
        raise Invalid(f"{raw} is not a map")
    return raw


def members(raw: dict[str, Any], key: str) -> list[Any]:
    """Returns the list under a key of a map; an empty list if the map does not have the key.

    Raises:
        Invalid: if the value of the key is not a list.
    """
    if not isinstance(raw.get(key), list | None):
        raise Invalid(f"{key} is not a list")
    return raw.get(key) or []
