"""Decides as a network policy engine whether a pod can open a connection. Written from the sources of the engines.

Source: aws/amazon-network-policy-controller-k8s v1.1.7 pkg/resolvers/endpoints.go; aws/aws-network-policy-agent v1.4.1
pkg/fwruleprocessor/fw_rule_processor.go; cilium/cilium v1.20.2 Documentation/security/policy/layer3.rst, bpf/bpf_lxc.c
and pkg/ipcache/metadata.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

from gpuc.manifest.manifest import Manifest


@dataclass(frozen=True)
class Target:
    """The other end of a connection."""

    address: str
    """The address to which the pod sends the packet."""
    identity: str
    """The identity in Cilium, after the address of a Service is replaced: pod, host, remote-node, world and others."""
    backend: str = ""
    """The address after the address of a Service is replaced; empty without a Service."""
    namespace: str = ""
    """The namespace of the pod, or of the Service with its pods."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of the pod."""
    selector: Mapping[str, str] | None = None
    """The selector of the Service; None without a Service, and for a Service without a selector."""


@dataclass(frozen=True)
class Engine:
    """An engine with the policies of the namespace of the client. All policies select all pods of the namespace."""

    policies: Sequence[Manifest]
    namespaces: Mapping[str, Mapping[str, str]]
    """The labels of namespaces, by name."""
    node: str
    """The primary address of the node of the client."""

    def rules(self, kind: str) -> Iterator[dict[str, Any]]:
        for policy in self.policies:
            if policy.kind == kind:
                yield from policy.body["spec"].get("egress", ())

    def selects_namespace(self, peer: Mapping[str, Any], namespace: str) -> bool:
        wanted = peer["namespaceSelector"]["matchLabels"].items()
        return wanted <= self.namespaces.get(namespace, {}).items()


def contains(cidr: str, address: str) -> bool:
    return ip_address(address) in ip_network(cidr)


def is_open(ports: Sequence[Mapping[str, Any]], protocol: str, port: int) -> bool:
    return not ports or any(str(entry["port"]) == str(port) and entry["protocol"] == protocol for entry in ports)


class VpcCni(Engine):
    """The VPC CNI judges the packet at the veth of the pod, before kube-proxy. It knows no CiliumNetworkPolicy."""

    def allows(self, target: Target, protocol: str, port: int) -> bool:
        if target.address == self.node:
            return True
        return any(
            is_open(rule.get("ports", ()), protocol, port) and any(self._includes(peer, target) for peer in rule["to"])
            for rule in self.rules("NetworkPolicy")
        )

    def _includes(self, peer: Mapping[str, Any], target: Target) -> bool:
        if "ipBlock" in peer:
            return contains(peer["ipBlock"]["cidr"], target.address)
        pods = peer.get("podSelector", {}).get("matchLabels", {}).items()
        if not self.selects_namespace(peer, target.namespace):
            return False
        if target.selector is not None:
            return pods <= target.selector.items()
        return not target.backend and target.identity == "pod" and pods <= target.labels.items()


class Cilium(Engine):
    """Cilium judges the identity of the backend. An ipBlock matches neither nodes nor pods."""

    def allows(self, target: Target, protocol: str, port: int) -> bool:
        by_entity = any(
            target.identity in rule["toEntities"]
            and any(is_open(ports["ports"], protocol, port) for ports in rule["toPorts"])
            for rule in self.rules("CiliumNetworkPolicy")
        )
        return by_entity or any(
            is_open(rule.get("ports", ()), protocol, port) and any(self._includes(peer, target) for peer in rule["to"])
            for rule in self.rules("NetworkPolicy")
        )

    def _includes(self, peer: Mapping[str, Any], target: Target) -> bool:
        if "ipBlock" in peer:
            is_outside = target.identity in ("world", "kube-apiserver")
            return is_outside and contains(peer["ipBlock"]["cidr"], target.backend or target.address)
        pods = peer.get("podSelector", {}).get("matchLabels", {}).items()
        is_pod = target.identity == "pod" and pods <= target.labels.items()
        return is_pod and self.selects_namespace(peer, target.namespace)
