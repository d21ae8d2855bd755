"""Names of the facts of a cluster that a policy parameter can name under `from`, with their values in words.

gpuc.emit.policy_facts contains the functions that return the values.
"""

from __future__ import annotations

FACTS: dict[str, str] = {
    "cluster.controllers": "users of the controllers that create pods: a list of user names",
    "cluster.kueue": "user of Kueue's controller: a string",
    "cluster.priorities": "names of the priority classes in the spec: a list of strings",
    "cluster.queued_kinds": "kinds of workloads that Kueue manages",
    "tenant.choices": "resources that several pools of one queue advertise: a list of {resource, pools}",
    "tenant.cost_centre": "costCentre of the tenant: a string",
    "tenant.cpu_queues": "names of the ClusterQueues without GPUs: a list of strings",
    "tenant.egress_blocks": "address ranges to which the tenant may connect: a list of {cidr, except}",
    "tenant.egress_cidrs": "address ranges to which the tenant may connect",
    "tenant.egress_namespaces": "namespaces of the platform to which the tenant may connect: a list of strings",
    "tenant.exposed_hosts": "hosts of Ingresses by namespace: a list of {namespace, names, suffixes}",
    "tenant.gpu_queues": "names of the ClusterQueues with GPUs: a list of strings",
    "tenant.grace_seconds": "longest grace period of a pod with GPUs, in seconds: an integer",
    "tenant.ingress_blocks": "address ranges from which the tenant receives connections: a list of {cidr, except}",
    "tenant.ingress_namespaces": "namespaces from which the tenant receives connections: a list of strings",
    "tenant.limits": "most devices that one pod can request: a list of {resource, pool, most}",
    "tenant.local_queues": "names of the LocalQueues: a list of strings",
    "tenant.mps_pools": "pools with MPS and the user ID of their clients: a list of {pool, user}",
    "tenant.name": "name of the tenant: a string",
    "tenant.namespace_pools": "pools with a ResourceQuota by namespace: a list of {namespace, pool, resources}",
    "tenant.namespace_queues": "LocalQueues by namespace: a list of {namespace, queues}",
    "tenant.nccl_profiles": "ConfigMaps with settings of NCCL: a list of {namespace, configMap}",
    "tenant.pools": "names of the pools that the tenant may use: a list of strings",
    "tenant.resources": "names of the device resources that the pools of the tenant advertise: a list of strings",
    "tenant.taints": "taints of the pools of the tenant: a list of {key, value}",
}
SETTINGS = "settings."
"""The prefix of a fact that is a setting of the policy in the spec."""
