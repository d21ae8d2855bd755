"""What is real beside Argo CD, and what a rehearsal puts in the place of something else."""

from __future__ import annotations

from gpuc.rehearse.argocd.prerequisites import SYSTEM_NODES
from gpuc.rehearse.argocd.processes import RESYNC_SECONDS
from gpuc.rehearse.substitute import SIMULATED_CLASS

SUBSTITUTIONS = (
    "Argo CD is redis, repo server and application controller, with their defaults but for two: the controller "
    f"compares every {RESYNC_SECONDS} s instead of 120 to 180 s (timeout.reconciliation), and waits longer for the "
    "repo server. There is no API server, no UI, no single sign-on and no controller of ApplicationSets.",
    "Git and the repositories of charts are served on loopback under the addresses that the Applications name; "
    "certificates are the rehearsal's. A refresh of the Application takes the place of the webhook of a push.",
    "Charts of Kueue, Gatekeeper and Karpenter are packaged from the modules that the programs are built from.",
    f"nodeClassRef of every NodePool names a {SIMULATED_CLASS} in what is served; the rest of the compiled tree is "
    "served as it is.",
    "A Deployment of Kueue, Gatekeeper or Karpenter runs as one process with the arguments, variables, ConfigMaps and "
    "Secrets of its pod, as an administrator; its other replicas only look as if they ran.",
    "Hook Jobs of these charts succeed at once; the Job that labels Gatekeeper's namespace does label the namespace.",
    "Kueue's visibility server is off and a stand-in without resources answers for its APIs. Kueue gives no work "
    "another node for a lost one.",
    "Karpenter runs with its simulated provider: instance types, prices and zones are those of gpuc's catalog, its "
    "gate ReservedCapacity is off, and nodes run nothing.",
    "EC2NodeClass and ClusterPolicy are made ready at once; an EC2NodeClass stays until its last NodeClaim is gone. "
    "Pods of the GPU Operator and of the EFA device plugin are simulated.",
    f"The managed node group is {SYSTEM_NODES} simulated nodes; addresses of Services lie on loopback.",
    "CustomResourceDefinitions of Prometheus, JobSet and Trainer are made from gpuc's own tables: --crds DIR installs "
    "upstream's own.",
)
"""Sentences for the report."""

HUB_SUBSTITUTION = (
    "Every cluster has a control plane of its own on this machine. Argo CD knows it by a cluster Secret under the "
    "server or name of the spec, reaches it by a proxy, and is an administrator there."
)
"""One more, where Argo CD has a cluster of its own."""
