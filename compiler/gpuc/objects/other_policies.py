"""Network policies that gpuc does not evaluate, and whether their rules can allow connections.

Sources: kubernetes-sigs/network-policy-api apis/v1alpha1/adminnetworkpolicy_types.go (AdminNetworkPolicyRuleAction) and
apis/v1alpha2/clusternetworkpolicy_types.go (Accept, Deny, Pass); aws/amazon-network-policy-controller-k8s v1.1.7
api/v1alpha1/clusternetworkpolicy_types.go and applicationnetworkpolicy_types.go; cilium/cilium v1.20.2
pkg/policy/api/rule.go; docs.tigera.io/calico/3.32 reference/resources/globalnetworkpolicy and tier; antrea-io/antrea
pkg/apis/crd/v1beta1/types.go (RuleAction)
"""

from __future__ import annotations

from gpuc.manifest.manifest import Manifest
from gpuc.objects.cilium_policies import CILIUM, read_cilium_policy
from gpuc.objects.cilium_policies import KIND as CILIUM_POLICY
from gpuc.objects.object_set import ObjectSet, dig, group, items

_KINDS = {
    "policy.networking.k8s.io": ("AdminNetworkPolicy", "BaselineAdminNetworkPolicy", "ClusterNetworkPolicy"),
    "networking.k8s.aws": ("ApplicationNetworkPolicy", "ClusterNetworkPolicy"),
    "cilium.io": ("CiliumClusterwideNetworkPolicy",),
    "crd.projectcalico.org": ("NetworkPolicy", "GlobalNetworkPolicy"),
    "projectcalico.org": ("NetworkPolicy", "GlobalNetworkPolicy"),
    "crd.antrea.io": ("NetworkPolicy", "ClusterNetworkPolicy"),
    "k8s.cni.cncf.io": ("MultiNetworkPolicy",),
}
"""Kinds of network policies that gpuc does not evaluate, by API group. Their objects can allow more connections."""
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


def other_policies(objects: ObjectSet) -> list[Manifest]:
    """Returns the network policies that gpuc cannot evaluate."""
    return [
        manifest
        for manifest in objects.manifests
        if manifest.kind in _KINDS.get(group(manifest), ())
        or ((group(manifest), manifest.kind) == (CILIUM, CILIUM_POLICY) and read_cilium_policy(manifest) is None)
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
    """Returns the policies of Kyverno that generate NetworkPolicies, which the input does not contain.

    Source: kyverno.io/policies/other/generate-networkpolicy-existing (rules[].generate)
    """
    return [
        manifest
        for api_group, kinds in _GENERATORS.items()
        for kind in kinds
        for manifest in objects.of(api_group, kind)
        if "NetworkPolicy" in _generated(manifest)
    ]


def _generated(manifest: Manifest) -> str:
    """Returns the text of the rules that create objects. A GeneratingPolicy consists only of such rules."""
    if manifest.kind == "GeneratingPolicy":
        return str(dig(manifest.body, "spec"))
    return str([dig(rule, "generate") for _, rule in items(dig(manifest.body, "spec", "rules"))])
