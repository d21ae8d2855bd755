"""Rules about the admission policies in a spec: their names, settings and rollout stages (dryrun, warn or deny)."""

from collections.abc import Iterable, Iterator, Sequence

from gpuc.diagnostics.finding import Related, Severity
from gpuc.diagnostics.spelling import nearest
from gpuc.model import Cluster
from gpuc.objects.object_set import grouped
from gpuc.parts.workload_kinds import pod_frameworks
from gpuc.rules import Findings, Found, rule


def unknown_names(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yields each unknown name of a policy, with the similar name of a known policy, or an empty string."""
    known = cluster.known_policies
    for name in cluster.policy_specs:
        if name != "default" and name not in known:
            yield name, nearest(name, [*known, "default"]) or ""


def not_at_deny(cluster: Cluster, policies: Iterable[str]) -> dict[str, list[str]]:
    """Returns which of some policies have another stage than deny, by the key under `policies` that sets the stage.

    The key is the name of the policy, or "default". The result does not contain a policy whose name the spec probably
    misspells, because POL001 reports the misspelled name.
    """
    misspelled = {meant for _, meant in unknown_names(cluster)}
    known = (policy for policy in policies if policy in cluster.policies and policy not in misspelled)
    found = (policy for policy in known if cluster.policy_stage(policy) != "deny")
    return grouped(found, lambda policy: policy if policy in cluster.policy_specs else "default")


def set_to_deny(key: str, policies: Sequence[str]) -> str:
    """Returns the fix that gives policies the stage deny. `key` sets their stage now: a policy, or "default"."""
    if key == "default":
        return f"add {' and '.join(f'{policy}: deny' for policy in policies)} to policies"
    return f"set the stage of policy {key} to deny"


def expected_deny(cluster: Cluster, names: Iterable[str], reason: str, related: Sequence[Related] = ()) -> Findings:
    """Yields a finding for each key under `policies` that sets another stage than deny for policies that need deny.

    Args:
        names: the policies that need the stage deny.
        reason: why the policies need this stage.
    """
    for key, policies in not_at_deny(cluster, names).items():
        actual = f"stage {cluster.policy_stage(policies[0])} of policy {', '.join(policies)}"
        message = f"{actual}; expected deny, because {reason}"
        yield Found(("spec", "policies", key), message, set_to_deny(key, policies), related)


@rule("POL104")
def jobs_outside_of_kueue(cluster: Cluster) -> Findings:
    """Kueue ignores workloads without a queue, and policy queue-required does not have stage deny."""
    frameworks = [name for name in cluster.frameworks if name in pod_frameworks()]
    required = ["queue-required"] if cluster.gpu_pools and frameworks else []
    related = [Related("the frameworks", ("spec", "kueue", "frameworks"), on_key=True)]
    for key, policies in not_at_deny(cluster, required).items():
        actual = f"policy queue-required has stage {cluster.policy_stage('queue-required')}"
        message = f"{actual}; expected deny, because of framework {', '.join(frameworks)} in kueue.frameworks"
        yield Found(("spec", "policies", key), message, set_to_deny(key, policies), related)


RESTRICTIONS = ("host-access", "host-network")


@rule("POL101", Severity.WARNING)
def privileged_without_restrictions(cluster: Cluster) -> Findings:
    """A namespace is privileged, but policy host-access or host-network does not have stage deny."""
    privileged = [namespace for _, namespace in cluster.namespaces if namespace.spec.pod_security == "privileged"]
    names = ", ".join(namespace.name for namespace in privileged)
    related = [
        Related(f"namespace {namespace.name} is privileged", (*namespace.path, "podSecurity"))
        for namespace in privileged
    ]
    reason = f"these namespaces are privileged: {names}"
    yield from expected_deny(cluster, RESTRICTIONS if privileged else (), reason, related)


@rule("POL105", Severity.WARNING)
def system_priority_of_tenants(cluster: Cluster) -> Findings:
    """Tenants can give workloads the priority of system components: policy priority-classes is not at stage deny."""
    policies = ["priority-classes"] if cluster.tenants else []
    yield from expected_deny(cluster, policies, "a system PriorityClass preempts workloads")


@rule("POL111", Severity.WARNING)
def tenants_without_policies(cluster: Cluster) -> Findings:
    """The cluster has tenants, but no admission policies."""
    if cluster.tenants and cluster.spec.policies is None:
        names = ", ".join(tenant.name for tenant in cluster.tenants)
        message = f"policies is missing, but the spec has tenants: {names}"
        yield Found(("spec", "tenants"), message, "add policies: {default: deny}")


COUNTING = ("gpu-quota", "queue-required", "owned-workloads", "gpu-queue", "pool-selector", "toleration-fence")
"""The policies without which a pod can use GPUs that no quota counts, or a node pool of another tenant."""


@rule("POL103", Severity.WARNING)
def uncounted_gpus(cluster: Cluster) -> Findings:
    """A policy that limits pods to the quotas and node pools of their tenant does not have stage deny."""
    # POL104 reports policy queue-required if Kueue counts pods.
    is_reported = bool(pod_frameworks() & set(cluster.frameworks))
    policies = [policy for policy in COUNTING if not (is_reported and policy == "queue-required")]
    if cluster.gpu_pools and cluster.tenants:
        yield from expected_deny(cluster, policies, "GPUs can be used that no quota counts")


@rule("POL003")
def invalid_setting(cluster: Cluster) -> Findings:
    """A setting of a policy has an invalid value."""
    known = cluster.known_policies
    for name, policy in cluster.policy_specs.items():
        settings = known[name].settings if name in known else {}
        for key, value in (policy.model_extra or {}).items():
            if key in settings:
                import jsonschema_rs

                for error in jsonschema_rs.validator_for(settings[key]).iter_errors(value):
                    message = f"setting {key} of policy {name} is invalid: {error.message}"
                    yield Found(("spec", "policies", name, key, *error.instance_path), message)


@rule("POL002")
def missing_or_unknown_setting(cluster: Cluster) -> Findings:
    """A policy lacks a required setting, or has an unknown setting."""
    known = cluster.known_policies
    for name, policy in cluster.policy_specs.items():
        if name != "default" and name not in known:
            continue
        settings = known[name].settings if name in known else {}
        given = policy.model_extra or {}
        path = ("spec", "policies", name)
        for key in sorted(given.keys() - settings.keys()):
            message = f"policy {name} has no setting {key}; expected {', '.join(settings) or 'no settings'}"
            yield Found((*path, key), message, f"remove setting {key} from policy {name}")
        without_value = settings.keys() - given.keys()
        if without_value:
            yield Found(path, f"policy {name} lacks required settings: {', '.join(sorted(without_value))}")


@rule("POL001")
def unknown_policy(cluster: Cluster) -> Findings:
    """The spec configures a policy that does not exist."""
    known = cluster.known_policies
    for name, meant in unknown_names(cluster):
        message = f"policy {name} does not exist; expected one of {', '.join(known)}"
        fix = f"rename policy {name} to {meant}" if meant else ""
        yield Found(("spec", "policies", name), message, fix, on_key=True)
