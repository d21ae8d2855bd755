"""Limit of the grace period with which a user deletes a pod: a ValidatingAdmissionPolicy for the namespaces of tenants.

A request to delete a pod can replace the grace period of the pod. Kueue does not count the terminating pods of a
deleted workload, and a pod keeps its GPUs until it has ended. The policy gpu-quota limits the grace period of new pods,
and this policy applies the same limit to requests.

The API server writes the grace period of the pod into a request without a grace period, before it evaluates policies.
Pods that a policy did not limit when they were created must be deletable too, so the grace period of the pod is always
allowed. The request that deletes all pods of a namespace has no grace period, or the one of the user.

Source: kubernetes v1.35.4 pkg/registry/core/pod/strategy.go (CheckGracefulDelete),
staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go (BeforeDelete),
staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go (Delete, DeleteCollection)
"""

import json
from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.policy_facts import FACTS
from gpuc.emit.sync import wave
from gpuc.kubernetes.api_groups import ADMISSION_API
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster
from gpuc.model.names import TENANT_KEY, WHY

NAME = "gpuc-pod-deletion"
GPU_QUOTA = "gpu-quota"
"""The policy whose rollout stage and limit apply."""
_ACTIONS = {"deny": "Deny", "warn": "Warn", "dryrun": "Audit"}


def pod_deletion(cluster: Cluster, origin: Path, first_wave: int) -> Iterator[Manifest]:
    """Yields the policy and its binding, if the cluster has tenants.

    Args:
        origin: the path in the spec that configures the policy gpu-quota.
        first_wave: the sync wave of both objects.
    """
    if not cluster.tenants:
        return
    file, annotations = cluster.out("policies/constraints/pod-deletion.yaml"), wave(first_wave)
    why = "Kueue does not count a terminating pod, so the grace period of a deletion is limited like that of a pod."
    policy: Body = {"spec": _policy(cluster)}
    action = _ACTIONS[cluster.policy_stage(GPU_QUOTA)]
    binding: Body = {"spec": {"policyName": NAME, "validationActions": [action]}}
    for kind, body in (("ValidatingAdmissionPolicy", policy), ("ValidatingAdmissionPolicyBinding", binding)):
        yield Manifest(file, origin, ADMISSION_API, kind, NAME, body, annotations=annotations | {WHY: why})


def grace_limits(cluster: Cluster) -> dict[str, int]:
    """Returns the limit of the grace period of pods with GPUs in seconds, by the name of the tenant."""
    return {tenant.name: FACTS["tenant.grace_seconds"](cluster, tenant) for tenant in cluster.tenants}


def _policy(cluster: Cluster) -> Body:
    seconds = grace_limits(cluster)
    selector = {"key": TENANT_KEY, "operator": "In", "values": list(seconds)}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": {"matchExpressions": [selector]},
            "resourceRules": [rule],
        },
        "variables": [
            {"name": name, "expression": expression}
            for name, expression in (
                ("limit", f'{json.dumps(seconds)}[namespaceObject.metadata.labels["{TENANT_KEY}"]]'),
                (
                    "requested",
                    "has(request.options) && request.options != null && has(request.options.gracePeriodSeconds) ? "
                    "request.options.gracePeriodSeconds : 0",
                ),
                (
                    "ofPod",
                    "has(oldObject.spec.terminationGracePeriodSeconds) ? "
                    "oldObject.spec.terminationGracePeriodSeconds : 0",
                ),
            )
        ],
        "validations": [
            {
                "expression": "variables.requested <= variables.limit || variables.requested <= variables.ofPod",
                "messageExpression": '"the grace period of a deletion is at most " + string(variables.limit) + '
                '" seconds, because Kueue gives the quota of a terminating pod to other workloads"',
            }
        ],
    }
