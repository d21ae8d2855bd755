"""Sentences for the report: the programs, objects and settings that a run of Argo CD simulates or replaces."""

from __future__ import annotations

from gpuc.model.names import SYSTEM_TAINT
from gpuc.rehearse.argocd.prerequisites import SYSTEM_NODES
from gpuc.rehearse.argocd.processes import RESYNC_SECONDS
from gpuc.rehearse.substitute import SIMULATED_CLASS

SUBSTITUTIONS = (
    "Argo CD consists of redis, repo server and application controller. Two settings differ from the defaults: the "
    f"controller compares every {RESYNC_SECONDS} s instead of 120 to 180 s (timeout.reconciliation), and waits longer "
    "for the repo server. API server, UI, single sign-on and the ApplicationSet controller do not run.",
    "Git and chart repositories are served on loopback. A proxy redirects the addresses in the Applications to "
    "loopback, with certificates of the rehearsal. A refresh of the Applications replaces the Git webhook.",
    "The charts of Kueue, Gatekeeper and Karpenter are packaged from the source modules of the programs.",
    f"nodeClassRef of every NodePool refers to a {SIMULATED_CLASS} in the served repository. The rest of the output is "
    "unchanged.",
    "A Deployment of Kueue, Gatekeeper or Karpenter runs as one process with the arguments, variables, ConfigMaps and "
    "Secrets of its pod, and with administrator rights. Its other replicas only have the status of running pods.",
    "Hook Jobs of these charts succeed immediately and run no program. Only the namespace labels of Gatekeeper's hook "
    "Jobs are applied.",
    "Kueue's visibility server is off; a replacement serves the visibility APIs without resources. Kueue does not "
    "replace failed nodes of workloads.",
    "Karpenter runs with its simulated provider: instance types, prices and zones are from gpuc's catalog, the feature "
    "gate ReservedCapacity is off, and nodes run no containers.",
    "EC2NodeClass and ClusterPolicy are ready immediately. A deleted EC2NodeClass remains until its last NodeClaim is "
    "deleted. Pods of the GPU Operator and of the EFA device plugin are simulated.",
    "Programs of charts that the spec adds do not run. Their pods become ready as soon as the scheduler has nodes for "
    "them. Then their webhooks allow every request; a webhook with a caBundle of the chart gets no server. All objects "
    "of their kinds get the condition Ready.",
    f"The managed node group has {SYSTEM_NODES} simulated nodes with the taint {SYSTEM_TAINT}. Addresses of Services "
    "are on loopback.",
    "CustomResourceDefinitions of Prometheus, JobSet and Trainer are generated from gpuc's tables; --crds DIR installs "
    "the upstream CustomResourceDefinitions.",
)
"""Sentences for every report."""

HUB_SUBSTITUTION = (
    "Every cluster has a separate control plane on this machine. Argo CD has a cluster Secret with the server or name "
    "of the spec, connects through a proxy, and has administrator rights."
)
"""An additional sentence for runs in which Argo CD runs in a separate cluster."""
