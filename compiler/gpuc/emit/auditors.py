"""The ClusterRole of auditors, who read the objects of the platform and of all tenants.

The built-in role view is not used: it cannot read nodes, queues and roles, and every chart can add rules to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.roles import READ, VIEW, PolicyRule, bound, documents, job_rules
from gpuc.emit.sync import wave
from gpuc.kubernetes.api_groups import RBAC, RBAC_API
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster

NAME = "gpuc-auditor"
FILE = "tenants/auditors.rbac.yaml"
"""The path below out/<cluster>/. The name of a tenant contains no dot, so that no file of a tenant has this path."""

_DATA = ("pods/log",)
"""Resources of the role view of members that are no objects, but data of a tenant: what its programs print."""

PLATFORM: tuple[PolicyRule, ...] = (
    ("", ("namespaces", "nodes", "persistentvolumes"), READ),
    ("admissionregistration.k8s.io", ("mutatingwebhookconfigurations", "validatingadmissionpolicies",
                                      "validatingadmissionpolicybindings", "validatingwebhookconfigurations"), READ),
    ("apiextensions.k8s.io", ("customresourcedefinitions",), READ),
    ("apps", ("daemonsets",), READ),
    ("batch", ("cronjobs", "jobs"), READ),
    ("cilium.io", ("ciliumclusterwidenetworkpolicies", "ciliumnetworkpolicies"), READ),
    ("config.gatekeeper.sh", ("configs",), READ),
    # The kinds of this group have the names of the ConstraintTemplates.
    ("constraints.gatekeeper.sh", ("*",), READ),
    ("expansion.gatekeeper.sh", ("expansiontemplate",), READ),
    ("flowcontrol.apiserver.k8s.io", ("flowschemas", "prioritylevelconfigurations"), READ),
    ("karpenter.k8s.aws", ("ec2nodeclasses",), READ),
    ("karpenter.sh", ("nodeclaims", "nodeoverlays", "nodepools"), READ),
    ("kueue.x-k8s.io", ("admissionchecks", "clusterqueues", "cohorts", "resourceflavors", "topologies",
                        "workloadpriorityclasses"), READ),
    ("metrics.k8s.io", ("nodes",), READ),
    ("monitoring.coreos.com", ("podmonitors", "prometheusrules", "servicemonitors"), READ),
    ("nvidia.com", ("clusterpolicies", "nvidiadrivers"), READ),
    (RBAC, ("clusterrolebindings", "clusterroles", "rolebindings", "roles"), READ),
    ("scheduling.k8s.io", ("priorityclasses",), READ),
    ("storage.k8s.io", ("storageclasses",), READ),
    ("templates.gatekeeper.sh", ("constrainttemplates",), READ),
    ("visibility.kueue.x-k8s.io", ("clusterqueues/pendingworkloads",), ("get",)),
)  # fmt: skip
"""Rules in addition to those of the role view of members. They do not allow access to Secrets."""


def auditors(cluster: Cluster) -> Iterator[Manifest]:
    """Yields the ClusterRole of the auditors, and the ClusterRoleBinding for their groups.

    Argo CD prunes both objects after `auditors` was removed from the spec, as it prunes the roles of members.
    """
    spec = cluster.spec.auditors
    if spec is None:
        return
    view = [(group, tuple(name for name in names if name not in _DATA), verbs) for group, names, verbs in VIEW]
    rules: Body = {"rules": documents([*view, *_other_jobs(cluster), *PLATFORM])}
    for kind, body in (("ClusterRole", rules), ("ClusterRoleBinding", bound("ClusterRole", NAME, spec.groups))):
        yield Manifest(cluster.out(FILE), ("spec", "auditors"), RBAC_API, kind, NAME, body, annotations=wave(0))


def _other_jobs(cluster: Cluster) -> Iterator[PolicyRule]:
    """Yields the rules for the job kinds that Kueue manages, without those of Kubernetes."""
    return (rule for rule in job_rules(cluster, READ) if rule[0] != "batch")
