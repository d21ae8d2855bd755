"""Network policies of other kinds than NetworkPolicy: gpuc reads those of Cilium, and only recognizes the others.

Sources: cilium/cilium v1.20.2 pkg/policy/api (rule.go, rule_validation.go, ingress.go, egress.go, entity.go, l4.go) and
pkg/k8s/apis/cilium.io/utils/utils.go (getEndpointSelector); kubernetes-sigs/network-policy-api
apis/v1alpha1/adminnetworkpolicy_types.go (AdminNetworkPolicyRuleAction) and apis/v1alpha2/clusternetworkpolicy_types.go
(Accept, Deny, Pass); aws/amazon-network-policy-controller-k8s v1.1.7 api/v1alpha1/clusternetworkpolicy_types.go and
applicationnetworkpolicy_types.go; docs.tigera.io/calico/3.32 reference/resources/globalnetworkpolicy and tier;
antrea-io/antrea pkg/apis/crd/v1beta1/types.go (RuleAction)
"""

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, Peer, TrafficRule
from gpuc.kubernetes.ports import ALL, PROTOCOLS, Ports, Span, span
from gpuc.kubernetes.selector import Invalid, Requirement, Selector
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import GROUP, Policy, map_of, members, read_block, read_policies
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, group, home_namespace, items
from gpuc.objects.selectors import read_selector

CILIUM = "cilium.io"
KIND = "CiliumNetworkPolicy"
_PREFIX = {INGRESS: "from", EGRESS: "to"}
_POD_ENTITIES = ("all", "cluster", "cluster-mesh", "init", "unmanaged")
"""Entities that include pods of tenants."""
_OTHER_ENTITIES = (
    "health", "host", "ingress", "kube-apiserver", "none", "remote-node", "world", "world-ipv4", "world-ipv6"
)  # fmt: skip
_READ_PEERS = ("CIDR", "CIDRSet", "Endpoints", "Entities", "FQDNs", "Nodes")
"""Fields that gpuc reads, without their prefix from or to. Peers of other fields can be pods."""
_NAMESPACE = "io.kubernetes.pod.namespace"
_NAMESPACE_LABELS = "io.cilium.k8s.namespace.labels."
_NO_POD = ()
"""The addresses of a peer that includes no pods."""
KINDS = {
    "policy.networking.k8s.io": ("AdminNetworkPolicy", "BaselineAdminNetworkPolicy", "ClusterNetworkPolicy"),
    "networking.k8s.aws": ("ApplicationNetworkPolicy", "ClusterNetworkPolicy"),
    "cilium.io": ("CiliumClusterwideNetworkPolicy",),
    "crd.projectcalico.org": ("NetworkPolicy", "GlobalNetworkPolicy"),
    "projectcalico.org": ("NetworkPolicy", "GlobalNetworkPolicy"),
    "crd.antrea.io": ("NetworkPolicy", "ClusterNetworkPolicy"),
    "k8s.cni.cncf.io": ("MultiNetworkPolicy",),
}
"""Kinds of network policies that gpuc does not evaluate, by API group. Their objects can allow more connections."""
WITH_NAMESPACE = ("ApplicationNetworkPolicy", "MultiNetworkPolicy", "NetworkPolicy")
"""Those of the kinds whose objects are in a namespace."""
_HARMLESS_ACTIONS = {
    "policy.networking.k8s.io": ("Deny", "Pass"),
    "networking.k8s.aws": ("Deny", "Pass"),
    "crd.projectcalico.org": ("Deny", "Log"),
    "projectcalico.org": ("Deny", "Log"),
    "crd.antrea.io": ("Drop", "Reject", "Pass"),
}
"""Actions of a rule that allow no connection that NetworkPolicies deny, by API group.

Pass of Calico is not one of them: after the last tier, the profile of the namespace allows all connections."""
_GENERATORS = {"kyverno.io": ("ClusterPolicy", "Policy"), "policies.kyverno.io": ("GeneratingPolicy",)}
"""Kinds that create objects, by API group."""


def enforced_policies(objects: ObjectSet, engine: str = "") -> list[Policy]:
    """Returns the network policies that the network policy engine of a cluster enforces and that gpuc can read.

    Args:
        engine: the network policy engine that the spec declares; an empty string if the engine is unknown.
    """
    policies = read_policies(objects.of(GROUP, "NetworkPolicy"))
    for manifest in objects.of(CILIUM, KIND) if engine in ("", "cilium") else ():
        policies += read_cilium_policy(manifest) or ()
    return policies


def read_cilium_policy(manifest: Manifest) -> list[Policy] | None:
    """Returns a policy for each rule of a CiliumNetworkPolicy; None if gpuc cannot evaluate one of the rules.

    gpuc ignores deny rules and rules for layer 7, because these rules only reduce the allowed traffic.
    """
    try:
        specs: list[tuple[Path, Any]] = [(("specs", i), raw) for i, raw in enumerate(members(manifest.body, "specs"))]
        if manifest.body.get("spec") is not None or not specs:
            specs.insert(0, (("spec",), manifest.body.get("spec")))
        return [_policy(manifest, map_of(raw), path) for path, raw in specs]
    except Invalid:
        return None


def _policy(manifest: Manifest, spec: dict[str, Any], path: Path) -> Policy:
    if not isinstance(spec.get("endpointSelector"), dict):
        raise Invalid("endpointSelector is not a map")
    pods, namespaces = _selectors(spec["endpointSelector"])
    if namespaces is not None:
        raise Invalid("endpointSelector selects namespaces")
    rules = {}
    for direction in (INGRESS, EGRESS):
        allowed = tuple(_rules(spec, direction, path))
        isolates = map_of(spec.get("enableDefaultDeny") or {}).get(direction)
        if isolates is None:
            isolates = bool(members(spec, direction) or members(spec, f"{direction}Deny"))
        if isolates:
            rules[direction] = allowed
        elif allowed:
            raise Invalid(f"{direction} rules of a policy that does not isolate pods")
    return Policy(home_namespace(manifest), pods, rules, manifest)


def _rules(spec: dict[str, Any], direction: str, path: Path) -> Iterator[TrafficRule]:
    """Yields the rules of a direction. A rule without peers and without ports allows nothing."""
    prefix = _PREFIX[direction]
    for index, raw in enumerate(members(spec, direction)):
        rule, where = map_of(raw), (*path, direction, index)
        fields = [key for key in rule if key.startswith(prefix) and key not in ("toPorts",)]
        if unknown := [key for key in fields if key.removeprefix(prefix) not in _READ_PEERS]:
            raise Invalid(f"peers {unknown}")
        peers = tuple(peer for key in fields for peer in _peers(rule, key, prefix, (*where, key)))
        ports, shows_dns = _ports(rule), any(dig(port, "rules", "dns") for _, port in items(rule.get("toPorts")))
        if fields:
            yield TrafficRule(where, peers or (Peer(where, block=_NO_POD),), ports, shows_dns)
        elif ports != ALL:
            yield TrafficRule(where, (), ports, shows_dns)


def _peers(rule: dict[str, Any], key: str, prefix: str, path: Path) -> Iterator[Peer]:
    """Yields the peers of one field of a rule, such as toEntities."""
    for index, raw in enumerate(members(rule, key)):
        where = (*path, index)
        match key.removeprefix(prefix):
            case "Endpoints":
                pods, namespaces = _selectors(map_of(raw))
                yield Peer(where, pods, namespaces)
            case "Entities":
                yield _entity(raw, where)
            case "CIDR" | "CIDRSet" as field:
                ranges = map_of(raw) if field == "CIDRSet" else {"cidr": raw}
                cidr = str(ranges.get("cidr"))
                length = "" if "/" in cidr else "/128" if ":" in cidr else "/32"
                yield Peer(where, block=read_block({**ranges, "cidr": cidr + length}))
            case "FQDNs":
                names = map_of(raw)
                yield Peer(where, block=_NO_POD, host=str(names.get("matchName") or names.get("matchPattern") or ""))
            case "Nodes":
                yield Peer(where, block=_NO_POD)
            case _:
                raise Invalid(f"{key} {raw}")


def _entity(raw: Any, path: Path) -> Peer:
    """Returns the peer of an entity: the pods of all namespaces, or no pods."""
    if raw in _POD_ENTITIES:
        return Peer(path, namespaces=(), entity=raw)
    if raw not in _OTHER_ENTITIES:
        raise Invalid(f"entity {raw}")
    return Peer(path, block=_NO_POD, entity=raw)


def _selectors(raw: dict[str, Any]) -> tuple[Selector, Selector | None]:
    """Returns the selector of pods and the selector of namespaces of an EndpointSelector.

    The selector of namespaces is None for the namespace of the policy.
    """
    pods: list[Requirement] = []
    namespaces: list[Requirement] = []
    for key, domain in read_selector(_without_sources(raw)):
        if key == _NAMESPACE:
            namespaces.append(Requirement(NAMESPACE_NAME, domain))
        elif key.startswith(_NAMESPACE_LABELS):
            namespaces.append(Requirement(key.removeprefix(_NAMESPACE_LABELS), domain))
        else:
            pods.append(Requirement(key, domain))
    return tuple(pods), tuple(namespaces) or None


def _without_sources(raw: dict[str, Any]) -> dict[str, Any]:
    """Returns a LabelSelector whose keys have no label source, such as k8s: or any:."""
    rows = [map_of(row) for row in members(raw, "matchExpressions")]
    return {
        "matchLabels": {_without_source(key): value for key, value in map_of(raw.get("matchLabels") or {}).items()},
        "matchExpressions": [{**row, "key": _without_source(row.get("key"))} for row in rows],
    }


def _without_source(key: Any) -> str:
    source, colon, name = str(key).rpartition(":")
    if colon and source not in ("k8s", "any"):
        raise Invalid(f"label source {source}")
    return name


def _ports(rule: dict[str, Any]) -> Ports:
    """Returns the ports of a rule: all ports without toPorts, and none for a rule with only ICMP types."""
    if not members(rule, "toPorts"):
        return () if members(rule, "icmps") else ALL
    spans: list[Span] = []
    for raw in members(rule, "toPorts"):
        ports = members(map_of(raw), "ports")
        if not ports:
            return ALL
        for port in map(map_of, ports):
            spans += _spans(port)
    return tuple(spans)


def _spans(port: dict[str, Any]) -> Iterator[Span]:
    """Yields the ranges of one port. The port "0" means all ports."""
    protocol, number = port.get("protocol") or "ANY", str(port.get("port") or "0")
    value: int | str | None = int(number) or None if number.isdecimal() else number
    end = port.get("endPort") or None
    for name in PROTOCOLS if protocol == "ANY" else (protocol,):
        if name in PROTOCOLS:  # no connection of other protocols, such as GRE, is part of a proof
            yield span(name, value, end if value is not None else None)


def other_policies(objects: ObjectSet) -> list[Manifest]:
    """Returns the network policies that gpuc cannot evaluate, for example the policies of Calico."""
    return [
        manifest
        for manifest in objects.manifests
        if manifest.kind in KINDS.get(group(manifest), ())
        or ((group(manifest), manifest.kind) == (CILIUM, KIND) and read_cilium_policy(manifest) is None)
    ]


def can_allow(policy: Manifest) -> bool:
    """Returns whether a policy that gpuc cannot evaluate can allow connections between pods."""
    specs = [dig(policy.body, "spec"), *(spec for _, spec in items(dig(policy.body, "specs")))]
    return not all(spec is None or (isinstance(spec, dict) and _only_denies(group(policy), spec)) for spec in specs)


def _only_denies(api_group: str, spec: dict[str, object]) -> bool:
    """Returns whether a policy allows no connections. The rules of groups without actions allow connections."""
    if api_group == CILIUM and "nodeSelector" in spec and "endpointSelector" not in spec:
        return True  # a policy of the host firewall, which applies to no pod
    rules = [spec.get(direction) for direction in ("ingress", "egress")]
    if not all(isinstance(listed, list | None) for listed in rules):
        return False
    actions = _HARMLESS_ACTIONS.get(api_group, ())
    return all(dig(rule, "action") in actions for listed in rules for _, rule in items(listed))


def policy_generators(objects: ObjectSet) -> list[Manifest]:
    """Returns policies of Kyverno that create NetworkPolicies in the cluster. gpuc cannot see these NetworkPolicies.

    Source: kyverno.io/policies/other/generate-networkpolicy-existing (rules[].generate)
    """
    return [
        manifest
        for api_group, kinds in _GENERATORS.items()
        for kind in kinds
        for manifest in objects.of(api_group, kind)
        if "NetworkPolicy" in str(_created(manifest))
    ]


def _created(manifest: Manifest) -> object:
    rules = [dig(rule, "generate") for _, rule in items(dig(manifest.body, "spec", "rules"))]
    return dig(manifest.body, "spec") if manifest.kind == "GeneratingPolicy" else rules
