"""ValidatingAdmissionPolicies about requests to delete pods and workloads in the namespaces of tenants.

The first policy limits the grace period. A request to delete a pod can replace the grace period of the pod. Kueue does
not count the terminating pods of a deleted workload, but a pod keeps its GPUs until it has ended. The policy gpu-quota
limits the grace period of new pods, and the first policy applies the same limit to requests.

Before the API server evaluates policies, it writes the grace period of the pod into a request without a grace period.
Users must be able to delete pods that were created before the limit, so the grace period of the pod is always allowed.
The request that deletes all pods of a namespace has no grace period, or the grace period of the user.

The first policy also forbids the grace period 0 for a pod on a node. With it, the API server removes the pod at once.
All quotas are then free, and the kubelet gives the GPUs to another pod, but the containers of the pod still run.

The second policy refuses deletions that leave pods without their workload, because Kueue ends the Workload at once. For
Jobs, such a deletion is the default of the API server.

Source: kubernetes v1.35.4 pkg/registry/core/pod/strategy.go (CheckGracefulDelete),
staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go (BeforeDelete),
staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go (Delete, DeleteCollection),
pkg/kubelet/pod_workers.go (calculateEffectiveGracePeriod), pkg/kubelet/cm/devicemanager/manager.go
(UpdateAllocatedDevices), pkg/registry/batch/job/strategy.go (DefaultGarbageCollectionPolicy);
kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go (finalizeWorkloads)
"""

import json
from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.emit.policy_facts import FACTS
from gpuc.emit.sync import wave
from gpuc.kubernetes.api_groups import ADMISSION_API
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.kubernetes.resource_name import plural
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Tenant
from gpuc.model.names import TENANT_KEY, WHY
from gpuc.objects.object_set import grouped
from gpuc.policy.library import policies

NAME, WORKLOADS_NAME = "gpuc-pod-deletion", "gpuc-workload-deletion"
GPU_QUOTA, OWNED = "gpu-quota", "owned-workloads"
"""The policies whose rollout stages apply to the deletion of pods and of workloads, and whose limit and kinds apply."""
_ACTIONS = {"deny": "Deny", "warn": "Warn", "dryrun": "Audit"}
_NOT_OWNERS = ("Deployment", "HorizontalPodAutoscaler", "Pod")
"""Kinds without pods that Kueue counts together: Kueue counts each pod of a Deployment by itself."""
_WHY = {
    NAME: "Kueue does not count a terminating pod, so the grace period of a deletion is limited like that of a pod.",
    WORKLOADS_NAME: "Kueue does not count the pods of a deleted workload, so that they are deleted with it.",
}
_OPTION = "has(request.options) && request.options != null && has(request.options."


def pod_deletion(cluster: Cluster, origins: dict[str, Path], sync_wave: int) -> Iterator[Manifest]:
    """Yields the two policies about deletions and their bindings; nothing for a cluster without tenants.

    Args:
        origins: the paths in the spec that configure the policies gpu-quota and owned-workloads, by their names.
        sync_wave: the sync wave of all objects.
    """
    for name, owner, body in (
        ((NAME, GPU_QUOTA, _pods(cluster)), (WORKLOADS_NAME, OWNED, _workloads(cluster))) if cluster.tenants else ()
    ):
        file = cluster.out(f"policies/constraints/{name.removeprefix('gpuc-')}.yaml")
        binding: Body = {"policyName": name, "validationActions": [_ACTIONS[cluster.policy_stage(owner)]]}
        annotations = wave(sync_wave) | {WHY: _WHY[name]}
        for kind, spec in (("ValidatingAdmissionPolicy", body), ("ValidatingAdmissionPolicyBinding", binding)):
            yield Manifest(file, origins[owner], ADMISSION_API, kind, name, {"spec": spec}, annotations=annotations)


def grace_limits(cluster: Cluster) -> dict[str, int]:
    """Returns the maximum grace period of pods with GPUs in seconds, by the name of the tenant."""
    return {tenant.name: FACTS["tenant.grace_seconds"](cluster, tenant) for tenant in cluster.tenants}


def _pods(cluster: Cluster) -> Body:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
    variables = {
        "limit": _of_tenant(grace_limits(cluster)),
        "members": _of_tenant({tenant.name: _groups(tenant) for tenant in cluster.tenants}),
        "requested": f"{_OPTION}gracePeriodSeconds) ? request.options.gracePeriodSeconds : 0",
        "ofPod": "has(oldObject.spec.terminationGracePeriodSeconds) ? oldObject.spec.terminationGracePeriodSeconds : 0",
        "isForced": f"{_OPTION}gracePeriodSeconds) && variables.requested == 0 && variables.ofPod > 0",
        "runs": 'has(oldObject.spec.nodeName) && oldObject.spec.nodeName != "" && '
        '!(has(oldObject.status.phase) && oldObject.status.phase in ["Succeeded", "Failed"])',
    }
    limited = {
        "expression": "variables.requested <= variables.limit || variables.requested <= variables.ofPod",
        "messageExpression": '"the grace period of a deletion is at most " + string(variables.limit) + '
        '" seconds, because Kueue gives the quota of a terminating pod to other workloads"',
    }
    graceful = {
        "expression": "!variables.isForced || !variables.runs || "
        "!request.userInfo.groups.exists(name, name in variables.members)",
        "message": "a pod that is deleted with grace period 0 keeps its GPUs without quota until its own grace period "
        "has passed; use grace period 1, as in kubectl delete --now",
    }
    return _policy(cluster, [rule], variables, [limited, graceful])


def _workloads(cluster: Cluster) -> Body:
    kinds = [(row["apiGroups"][0], kind) for row in policies()[OWNED].kinds for kind in row["kinds"]]
    resources = grouped((kind for kind in kinds if kind[1] not in _NOT_OWNERS), lambda kind: kind[0])
    rules = [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["DELETE"],
            "resources": [plural(group, kind) for _, kind in found],
        }
        for group, found in resources.items()
    ]
    variables = {
        "propagation": f"{_OPTION}propagationPolicy) ? request.options.propagationPolicy : "
        f'{_OPTION}orphanDependents) ? (request.options.orphanDependents ? "Orphan" : "Background") : '
        'request.kind.kind == "Job" ? "Orphan" : "Background"',
        # Without a queue, a ResourceQuota counts each pod of a StatefulSet.
        "counted": 'request.kind.kind != "StatefulSet" || has(oldObject.metadata.labels) && '
        f'"{QUEUE_LABEL}" in oldObject.metadata.labels',
        "finished": "has(oldObject.status) && has(oldObject.status.conditions) && "
        'oldObject.status.conditions.exists(c, c.status == "True" && '
        'c.type in ["Complete", "Completed", "Failed", "Finished", "Succeeded"])',
    }
    validation = {
        "expression": 'variables.propagation != "Orphan" || variables.finished || !variables.counted',
        "message": "a deletion that leaves the pods of a workload leaves their GPUs without quota; set "
        "propagationPolicy to Background",
    }
    return _policy(cluster, rules, variables, [validation])


def _policy(cluster: Cluster, rules: list[Any], variables: dict[str, str], validations: list[dict[str, str]]) -> Body:
    """Returns the spec of a policy for the namespaces of tenants."""
    tenants = [tenant.name for tenant in cluster.tenants]
    selector = {"matchExpressions": [{"key": TENANT_KEY, "operator": "In", "values": tenants}]}
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"namespaceSelector": selector, "resourceRules": rules},
        "variables": [{"name": name, "expression": expression} for name, expression in variables.items()],
        "validations": validations,
    }


def _of_tenant(values: dict[str, Any]) -> str:
    """Returns an expression: the value for the tenant of the namespace."""
    return f'{json.dumps(values)}[namespaceObject.metadata.labels["{TENANT_KEY}"]]'


def _groups(tenant: Tenant) -> list[str]:
    """Returns the groups of the members of a tenant, and of the ServiceAccounts of its namespaces."""
    return [*tenant.groups, *(f"system:serviceaccounts:{namespace.name}" for namespace in tenant.namespaces)]
