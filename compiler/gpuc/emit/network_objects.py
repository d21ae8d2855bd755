"""Builds NetworkPolicy and CiliumNetworkPolicy objects from their rules, peers and ports."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from gpuc.diagnostics.finding import Path
from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Namespace
from gpuc.model.names import WHY
from gpuc.objects.object_set import NAMESPACE_NAME
from gpuc.spec.network import Port

CILIUM_POLICY = ("cilium.io", "CiliumNetworkPolicy")
"""API group and kind of the policies of Cilium."""


class PolicyPart(Struct, frozen=True):
    """A network policy without its namespace, so that several namespaces can have the policy."""

    name: str
    origin: Path
    rules: Body
    """The rules by direction: {"egress": [...]}; empty to deny all traffic."""
    why: str = ""
    """The reason from the spec; empty for a policy that the spec does not declare."""
    pods: Mapping[str, str] = field(default_factory=dict)
    """The labels of the pods that have the policy; empty for all pods."""
    is_cilium: bool = False
    """Whether the rules have the form of a CiliumNetworkPolicy."""

    def manifest(self, file: str, namespace: Namespace) -> Manifest:
        """Returns the policy as an object in a namespace."""
        selector = {"matchLabels": dict(self.pods)} if self.pods else {}
        annotations = wave(1) | ({WHY: self.why} if self.why else {})
        if self.is_cilium:
            api, kind = f"{CILIUM_POLICY[0]}/v2", CILIUM_POLICY[1]
            body: Body = {"spec": {"endpointSelector": selector, **self.rules}}
        else:
            api, kind = "networking.k8s.io/v1", "NetworkPolicy"
            # The default of policyTypes would always include Ingress.
            types = [key.capitalize() for key in ("ingress", "egress") if key in self.rules or not self.rules]
            body = {"spec": {"podSelector": selector, "policyTypes": types, **self.rules}}
        return Manifest(file, self.origin, api, kind, self.name, body, namespace.name, annotations=annotations)


def namespace_peer(name: str, pods: Mapping[str, str] | None = None) -> Body:
    """Returns a peer of a NetworkPolicy: all pods of a namespace, or only the pods with the given labels.

    The two selectors are in one peer, so both selectors must match. Two peers would allow all pods of the namespace.
    """
    # The API server sets this label on every Namespace. Users cannot change it.
    peer: Body = {"namespaceSelector": {"matchLabels": {NAMESPACE_NAME: name}}}
    return {**peer, "podSelector": {"matchLabels": dict(pods)}} if pods else peer


def ip_block(cidr: str) -> Body:
    """Returns a peer of a NetworkPolicy: the addresses of a range, for example 10.0.0.0/16."""
    return {"ipBlock": {"cidr": cidr}}


def with_ports(rule: Body, ports: Sequence[Port], *, is_cilium: bool = False) -> Body:
    """Returns a rule together with its ports. In a CiliumNetworkPolicy, the numbers of ports are strings."""
    if is_cilium:
        return {**rule, "toPorts": [{"ports": [{"port": str(port.port), "protocol": port.protocol} for port in ports]}]}
    return {**rule, "ports": [{"port": port.port, "protocol": port.protocol} for port in ports]}
