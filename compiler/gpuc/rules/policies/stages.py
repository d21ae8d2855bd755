"""The stages of policies, for rules that require the stage deny."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpuc.diagnostics.finding import Related, Severity
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.kueue import POD_FRAMEWORKS
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


def unknown_names(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yields the name of each unknown policy, and the policy that is probably meant, or an empty string."""
    known = cluster.known_policies
    for name in cluster.policy_specs:
        if name != "default" and name not in known:
            yield name, nearest(name, [*known, "default"]) or ""


def not_at_deny(cluster: Cluster, policies: Iterable[str]) -> dict[str, list[str]]:
    """Returns the policies without stage deny, by the key under `policies` that sets their stage.

    A policy whose name is probably misspelled in the spec is left out, because POL001 reports the wrong name.
    """
    misspelled = {meant for _, meant in unknown_names(cluster)}
    by_key: dict[str, list[str]] = {}
    for policy in policies:
        if policy in cluster.policies and policy not in misspelled and cluster.policy_stage(policy) != "deny":
            by_key.setdefault(policy if policy in cluster.policy_specs else "default", []).append(policy)
    return by_key


def set_to_deny(key: str, policies: Sequence[str]) -> str:
    """Returns the fix for policies whose stage the key sets."""
    if key == "default":
        return f"add {' and '.join(f'{policy}: deny' for policy in policies)} to policies"
    return f"set the stage of policy {key} to deny"


@rule("POL104", source="kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go")
def jobs_outside_of_kueue(cluster: Cluster) -> Findings:
    """Kueue ignores workloads without a queue, and policy queue-required does not have stage deny.

    With a framework for pods, gpuc sets manageJobsWithoutQueueName of Kueue to false; otherwise Kueue would stop every
    pod of a tenant. Only policy queue-required then denies a Job without a queue, which would use GPUs that no quota
    counts.
    """
    frameworks = [name for name in cluster.frameworks if name in POD_FRAMEWORKS]
    required = ["queue-required"] if cluster.gpu_pools and frameworks else []
    for key, policies in not_at_deny(cluster, required).items():
        actual = f"policy queue-required has stage {cluster.policy_stage('queue-required')}"
        message = f"{actual}; expected deny, because of framework {', '.join(frameworks)} in kueue.frameworks"
        related = [Related("the frameworks", ("spec", "kueue", "frameworks"), on_key=True)]
        yield Found(("spec", "policies", key), message, set_to_deny(key, policies), related)


RESTRICTIONS = ("host-access", "host-network")


@rule("POL101", Severity.WARNING, source="Kubernetes Pod Security Standards, privileged")
def privileged_without_restrictions(cluster: Cluster) -> Findings:
    """A namespace is privileged, but policy host-access or host-network does not have stage deny.

    On AMIs other than AL2023, EFA needs privileged namespaces (capability IPC_LOCK). Without these policies the pods of
    a privileged namespace may also mount the node's disk and use the node's network, and can read the data of others.
    """
    privileged = [namespace for _, namespace in cluster.namespaces if namespace.spec.pod_security == "privileged"]
    names = ", ".join(namespace.name for namespace in privileged)
    related = [
        Related(f"namespace {namespace.name} is privileged", (*namespace.path, "podSecurity"))
        for namespace in privileged
    ]
    for key, policies in not_at_deny(cluster, RESTRICTIONS if privileged else ()).items():
        actual = f"stage {cluster.policy_stage(policies[0])} of policy {', '.join(policies)}"
        message = f"{actual}; expected deny, because these namespaces are privileged: {names}"
        yield Found(("spec", "policies", key), message, set_to_deny(key, policies), related)


_POLICY = "priority-classes"


@rule("POL105", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go")
def system_priority_of_tenants(cluster: Cluster) -> Findings:
    """Tenants can give workloads the priority of system components: the policy priority-classes is not at deny.

    Kueue takes the priority of a workload from the PriorityClass of its pods. With system-node-critical, a workload
    preempts all workloads in its queue. A ResourceQuota then refuses the pods, so the GPUs are idle.
    """
    for key, policies in not_at_deny(cluster, [_POLICY] if cluster.tenants else []).items():
        stage = cluster.policy_stage(_POLICY)
        message = f"stage {stage} of policy {_POLICY}; expected deny, because a system PriorityClass preempts workloads"
        yield Found(("spec", "policies", key), message, set_to_deny(key, policies))


@rule("POL111", Severity.WARNING)
def tenants_without_policies(cluster: Cluster) -> Findings:
    """The cluster has tenants, but no admission policies.

    RBAC, ResourceQuotas, Pod Security and NetworkPolicies apply, but no policy keeps pods to the queues and node pools
    of their tenant: a tenant can use GPUs that Kueue counts for other tenants, and start nodes of other tenants.
    """
    if cluster.tenants and cluster.spec.policies is None:
        message = (
            f"policies is missing, but the spec has tenants: {', '.join(tenant.name for tenant in cluster.tenants)}"
        )
        yield Found(("spec", "tenants"), message, "add policies: {default: deny}")


COUNTING = ("gpu-quota", "queue-required", "owned-workloads", "gpu-queue", "pool-selector", "toleration-fence")
"""The policies without which a pod can use GPUs that no quota counts, or a node pool of another tenant."""


@rule("POL103", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go")
def uncounted_gpus(cluster: Cluster) -> Findings:
    """The cluster has GPUs, but a policy that keeps pods to the quotas and node pools of their tenant is not at deny.

    Without gpu-quota, a pod outside of Kueue can use GPUs that Kueue counts for other workloads. Without
    queue-required, a workload can be created without a queue. Without owned-workloads, a tenant can forge the owner of
    a workload. Without gpu-queue, pool-selector and toleration-fence, a pod can start nodes of another tenant.
    """
    # POL104 reports policy queue-required if Kueue counts pods.
    is_reported = bool(POD_FRAMEWORKS & set(cluster.frameworks))
    policies = [policy for policy in COUNTING if not (is_reported and policy == "queue-required")]
    by_key = not_at_deny(cluster, policies) if cluster.gpu_pools and cluster.tenants else {}
    for key, lenient in by_key.items():
        names, stage = ", ".join(lenient), cluster.policy_stage(lenient[0])
        message = f"stage {stage} of policy {names}; expected deny, because GPUs can be used that no quota counts"
        yield Found(("spec", "policies", key), message, set_to_deny(key, lenient))
