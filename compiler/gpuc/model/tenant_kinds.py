"""Kinds with which the owner of a namespace could leave the limits of its tenant.

Argo CD applies the manifests of a tenant with its own permissions. Objects of these kinds would therefore give a tenant
more than the roles of its members give.
"""

from __future__ import annotations

from gpuc.kubernetes.api_groups import RBAC
from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.other_policies import KINDS, WITH_NAMESPACE

_RIGHTS = "it gives permissions that the spec does not declare"
_NETWORK = "it can allow connections to other tenants"
_LIMITS = "the spec declares the limits of a tenant"
_QUOTA = "it can use the quota of other tenants"
_ADDRESSES = "a Service or an Ingress could send traffic to pods of other tenants (CVE-2021-25740)"
_DELIVERY = "its controller creates objects in other namespaces with its own permissions"
_GENERATOR = "its controller creates objects of other kinds with its own permissions"

DENIED_KINDS: dict[tuple[str, str], str] = {
    **{(group, kind): _NETWORK for group, kinds in KINDS.items() for kind in kinds if kind in WITH_NAMESPACE},
    ("", "Endpoints"): _ADDRESSES,
    ("", "LimitRange"): _LIMITS,
    ("", "ResourceQuota"): _LIMITS,
    ("argoproj.io", "AppProject"): _DELIVERY,
    ("argoproj.io", "Application"): _DELIVERY,
    ("argoproj.io", "ApplicationSet"): _DELIVERY,
    ("cilium.io", "CiliumNetworkPolicy"): _NETWORK,
    ("discovery.k8s.io", "EndpointSlice"): _ADDRESSES,
    ("helm.cattle.io", "HelmChart"): _DELIVERY,
    ("helm.toolkit.fluxcd.io", "HelmRelease"): _DELIVERY,
    ("k8s.cni.cncf.io", "NetworkAttachmentDefinition"): _NETWORK,
    ("k8s.ovn.org", "UserDefinedNetwork"): _NETWORK,
    (GROUP, "LocalQueue"): _QUOTA,
    (GROUP, "Workload"): _QUOTA,
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): _DELIVERY,
    ("kyverno.io", "Policy"): _GENERATOR,
    ("networking.k8s.io", "NetworkPolicy"): _NETWORK,
    ("operators.coreos.com", "ClusterServiceVersion"): _GENERATOR,
    ("operators.coreos.com", "Subscription"): _GENERATOR,
    (RBAC, "Role"): _RIGHTS,
    (RBAC, "RoleBinding"): _RIGHTS,
}
"""The reasons by API group and kind. All kinds are namespaced."""
