"""Decides as a network policy engine whether a pod can open or accept a connection.

The code is written from the sources of the engines.

Source: aws/amazon-network-policy-controller-k8s v1.1.7 pkg/resolvers/endpoints.go; aws/aws-network-policy-agent v1.4.1
pkg/fwruleprocessor/fw_rule_processor.go; cilium/cilium v1.20.2 Documentation/security/policy/layer3.rst, bpf/bpf_lxc.c,
pkg/ipcache/metadata.go and pkg/policy/types/selector.go
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

from gpuc.manifest.manifest import Manifest

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Target:
    """The other end of a connection: the server for egress, the client for ingress."""

    address: str
    """The address to which the pod sends the packet, or from which the packet comes."""
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
    host: str = ""
    """The host name for which the cluster's DNS returned the address; empty without a name."""


@dataclass(frozen=True)
class Engine:
    """An engine with the policies of the namespace of a pod."""

    policies: Sequence[Manifest]
    namespaces: Mapping[str, Mapping[str, str]]
    """The labels of namespaces, by name."""
    node: str
    """The primary address of the node of the pod."""
    direction: str = "egress"
    """egress if the pod is the client, ingress if the pod is the server."""
    pod: Mapping[str, str] = field(default_factory=dict)
    """The labels of the pod."""

    def rules(self, kind: str) -> Iterator[Body]:
        """Yields the rules of the policies that select the pod."""
        key = "podSelector" if kind == "NetworkPolicy" else "endpointSelector"
        for policy in self.policies:
            spec = policy.body["spec"]
            if policy.kind == kind and spec[key].get("matchLabels", {}).items() <= self.pod.items():
                yield from spec.get(self.direction, ())

    def peers(self, rule: Body) -> Sequence[Body]:
        peers: Sequence[Body] = rule["to" if self.direction == "egress" else "from"]
        return peers

    def selects_namespace(self, peer: Body, namespace: str) -> bool:
        wanted = peer["namespaceSelector"]["matchLabels"].items()
        return wanted <= self.namespaces.get(namespace, {}).items()


def contains(cidr: str, address: str) -> bool:
    return ip_address(address) in ip_network(cidr)


def _is_wider(cidr: str, other: str) -> bool:
    return ip_network(cidr).supernet_of(ip_network(other))  # type: ignore[arg-type]


def is_open(ports: Sequence[Body], protocol: str, port: int) -> bool:
    return not ports or any(str(entry["port"]) == str(port) and entry["protocol"] == protocol for entry in ports)


class VpcCni(Engine):
    """The VPC CNI judges the packet at the veth of the pod, before kube-proxy. It knows no CiliumNetworkPolicy.

    The rules of all policies are in one map of ranges, in which the longest prefix decides.
    """

    def allows(self, target: Target, protocol: str, port: int) -> bool:
        if target.address == self.node:
            return True
        entries = self._entries(target)
        matching = [cidr for cidr in entries if contains(cidr, target.address)]
        if not matching:
            return False
        decisive = max(matching, key=lambda cidr: ip_network(cidr).prefixlen)
        return any(is_open(ports, protocol, port) for ports in entries[decisive])

    def _entries(self, target: Target) -> Mapping[str, list[Sequence[Body]]]:
        """Returns the lists of ports by range. A range without ports is denied.

        A range gets the ports of wider ranges that do not exclude it. An excluded range is denied, unless a rule has
        exactly this range.
        """
        blocks: list[tuple[str, Sequence[str], Sequence[Body]]] = []
        for rule in self.rules("NetworkPolicy"):
            for peer in self.peers(rule):
                block = peer.get("ipBlock") or (
                    {"cidr": f"{target.address}/32"} if self._selects(peer, target) else None
                )
                if block:
                    blocks.append((block["cidr"], block.get("except", ()), rule.get("ports", ())))
        entries: dict[str, list[Sequence[Body]]] = {}
        for cidr, _, _ in blocks:
            first = str(ip_network(cidr)[0])
            entries[cidr] = [
                ports
                for wider, excluded, ports in blocks
                if wider == cidr or (_is_wider(wider, cidr) and not any(contains(other, first) for other in excluded))
            ]
        for _, excluded, _ in blocks:
            for cidr in excluded:
                entries.setdefault(cidr, [])
        return entries

    def _selects(self, peer: Body, target: Target) -> bool:
        pods = peer.get("podSelector", {}).get("matchLabels", {}).items()
        if not self.selects_namespace(peer, target.namespace):
            return False
        if target.selector is not None:
            return pods <= target.selector.items()
        return not target.backend and target.identity == "pod" and pods <= target.labels.items()


class Cilium(Engine):
    """Cilium judges the identity of the backend. Neither an ipBlock nor a host name matches nodes and pods."""

    def allows(self, target: Target, protocol: str, port: int) -> bool:
        by_cilium = any(
            self._includes_cilium(rule, target)
            and any(is_open(ports["ports"], protocol, port) for ports in rule["toPorts"])
            for rule in self.rules("CiliumNetworkPolicy")
        )
        return by_cilium or any(
            is_open(rule.get("ports", ()), protocol, port)
            and any(self._includes(peer, target) for peer in self.peers(rule))
            for rule in self.rules("NetworkPolicy")
        )

    def _includes_cilium(self, rule: Body, target: Target) -> bool:
        entities = rule.get("toEntities") or rule.get("fromEntities") or ()
        names = any(_is_name(name, target.host) for name in rule.get("toFQDNs", ()))
        labels = {"k8s:io.kubernetes.pod.namespace": target.namespace}
        labels |= {f"k8s:{key}": value for key, value in target.labels.items()}
        endpoints = (peer["matchLabels"].items() <= labels.items() for peer in rule.get("toEndpoints", ()))
        is_pod = target.identity == "pod"
        return target.identity in entities or (target.identity == "world" and names) or (is_pod and any(endpoints))

    def _includes(self, peer: Body, target: Target) -> bool:
        if "ipBlock" in peer:
            block, address = peer["ipBlock"], target.backend or target.address
            is_outside = target.identity in ("world", "kube-apiserver")
            is_excluded = any(contains(cidr, address) for cidr in block.get("except", ()))
            return is_outside and contains(block["cidr"], address) and not is_excluded
        pods = peer.get("podSelector", {}).get("matchLabels", {}).items()
        is_pod = target.identity == "pod" and pods <= target.labels.items()
        return is_pod and self.selects_namespace(peer, target.namespace)


def _is_name(selector: Body, host: str) -> bool:
    """Returns whether a selector of toFQDNs matches a host name. `**.` stands for one or more labels."""
    if "matchName" in selector:
        return bool(host == selector["matchName"])
    return host.endswith(selector["matchPattern"].removeprefix("**"))
