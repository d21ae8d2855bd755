"""Rules about NCCL profiles, which are sets of environment variables in the spec, and the namespaces with profiles."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.diagnostics.finding import Path, Severity
from gpuc.diagnostics.spelling import misspelt
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule

if TYPE_CHECKING:
    from gpuc.catalog.operations import NcclVariable


UNWANTED = ("harmful", "obsolete", "deprecated", "removed", "no effect", "redundant")
POD_INTERFACE = "eth0"


def profile_variables(cluster: Cluster) -> Iterator[tuple[Path, str, str, str]]:
    """Yields every environment variable of an NCCL profile: the path in the spec, the profile, the name, the value."""
    for name, profile in cluster.spec.nccl.profiles.items():
        for variable, value in profile.env.items():
            yield ("spec", "nccl", "profiles", name, "env", variable), name, variable, value


@rule("EFA008", Severity.WARNING)
def harmful_setting(cluster: Cluster) -> Findings:
    """An environment variable of NCCL or of the EFA plugin is harmful, or has no effect."""
    for path, profile, name, value in profile_variables(cluster):
        # A verdict on the complete name takes precedence over a verdict on a prefix of the name.
        verdicts = [verdict for verdict in cluster.catalog.nccl.verdicts if verdict.matches(name, value)]
        verdicts.sort(key=lambda verdict: (verdict.prefix, not verdict.value))
        if verdicts and verdicts[0].verdict in UNWANTED:
            verdict = verdicts[0].verdict.replace("no effect", "without effect")
            actual = f"{name}={value} in NCCL profile {profile} is {verdict}"
            yield Found(path, f"{actual}: {verdicts[0].why}", f"remove {name} from NCCL profile {profile}")


@rule("EFA009", Severity.WARNING)
def interface_missing_in_pods(cluster: Cluster) -> Findings:
    """NCCL is configured to use a network interface that pods do not have."""
    for path, profile, name, value in profile_variables(cluster):
        if name in ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME") and not _selects(value):
            variable = f"{name} of NCCL profile {profile}"
            message = f"{variable} is {value or 'an empty string'}, but pods have only the interface {POD_INTERFACE}"
            yield Found(path, message, f"set {variable} to {POD_INTERFACE}")


def _selects(value: str) -> bool:
    """Returns whether the value selects eth0.

    The value is a list of prefixes of interface names. After = the list contains complete names, and after ^ the list
    contains the interfaces that NCCL must not use.
    """
    names = value.lstrip("^=").split(",")
    exact = "=" in value[:2]
    is_listed = any(name == POD_INTERFACE if exact else bool(name) and POD_INTERFACE.startswith(name) for name in names)
    return not is_listed if value.startswith("^") else is_listed


@rule("EFA104")
def invalid_value(cluster: Cluster) -> Findings:
    """An environment variable of NCCL has a value that NCCL does not accept."""
    for path, profile, name, value in profile_variables(cluster):
        variable = cluster.catalog.nccl.variables.get(name)
        expected = _expected(variable, value) if variable else ""
        if expected:
            actual = f"{name} of NCCL profile {profile} is {value or 'an empty string'}"
            yield Found(path, f"{actual}; expected {expected}")


def _expected(variable: "NcclVariable", value: str) -> str:
    """Returns the allowed values for the message, or an empty string if the value is allowed."""
    if variable.type == "bool":
        return "" if value.lower() in ("0", "1", "true", "false") else "0 or 1"
    if variable.type == "int":
        return _expected_number(variable, value)
    words = value.lstrip("^").split(",") if variable.type == "list" else [value]
    known = {word.lower() for word in variable.values}
    # NCCL also accepts numbers for named levels, and lists of algorithms by collective. This rule checks neither.
    is_level = value.isdigit() and not any(word.isdigit() for word in known)
    if not known or is_level or ":" in value:
        return ""
    return "" if all(word.strip().lower() in known for word in words) else ", ".join(variable.values)


def _expected_number(variable: "NcclVariable", value: str) -> str:
    """Returns the allowed numbers for the message, or an empty string if the value is an allowed number."""
    low, high = variable.minimum, variable.maximum
    try:
        number = int(value)
    except ValueError:
        return "a whole number"
    if (low is None or number >= low) and (high is None or number <= high):
        return ""
    if low is None or high is None:
        return f"at most {high}" if low is None else f"at least {low}"
    return f"{low} to {high}"


@rule("EFA103", Severity.WARNING)
def unknown_variable(cluster: Cluster) -> Findings:
    """A variable in an NCCL profile is neither a variable of NCCL nor of the EFA plugin."""
    for path, profile, name, _ in profile_variables(cluster):
        nccl = cluster.catalog.nccl
        known = nccl.variables.keys() | {verdict.name for verdict in nccl.verdicts}
        if name.startswith(("NCCL_", "OFI_NCCL_")) and name not in known:
            message = f"NCCL profile {profile} sets {name}, but NCCL and the EFA plugin have no such variable"
            suggestion = misspelt(name, known)
            yield Found(path, message, f"rename {name} to {suggestion}" if suggestion else "")


@rule("TEN008")
def profile_in_restricted_namespace(cluster: Cluster) -> Findings:
    """A namespace has an NCCL profile for EFA, but the namespace does not admit EFA pods."""
    for tenant in cluster.tenants if any(pool.needs_ipc_lock for pool in cluster.efa_pools) else ():
        if all(namespace.spec.pod_security != "privileged" for namespace in tenant.namespaces):
            continue  # EFA007 reports the tenant
        for namespace in tenant.namespaces:
            if namespace.nccl and namespace.nccl.spec.fabric == "efa" and namespace.spec.pod_security != "privileged":
                actual = f"namespace {namespace.name} has podSecurity {namespace.spec.pod_security}"
                message = f"{actual}, but NCCL profile {namespace.nccl.name} has fabric efa"
                fix = f"set podSecurity of namespace {namespace.name} to privileged"
                yield Found((*namespace.path, "podSecurity"), message, fix)


@rule("EFA107", Severity.WARNING)
def profile_without_fabric(cluster: Cluster) -> Findings:
    """The NCCL profile of a namespace is for a fabric that none of its node pools has."""
    for _, namespace in cluster.namespaces:
        pools = [pool for queue in namespace.queues for pool in queue.pools]
        fabrics = {pool.spec.fabric for pool in (*pools, *(quota.pool for quota in namespace.quotas))}
        if namespace.nccl and namespace.nccl.spec.fabric not in fabrics:
            fabric = namespace.nccl.spec.fabric
            actual = f"namespace {namespace.name} has NCCL profile {namespace.nccl.name} for fabric {fabric}"
            message = f"{actual}, but no node pool in the quotas of the namespace has fabric {fabric}"
            yield Found((*namespace.path, "nccl"), message)


@rule("EFA108", Severity.WARNING)
def unused_profile(cluster: Cluster) -> Findings:
    """The spec has an NCCL profile that no namespace uses."""
    used = {namespace.nccl.name for _, namespace in cluster.namespaces if namespace.nccl}
    for name in cluster.spec.nccl.profiles:
        if name not in used:
            yield Found(("spec", "nccl", "profiles", name, "fabric"), f"no namespace uses NCCL profile {name}")


@rule("EFA105", Severity.WARNING)
def verbose_logs_in_production(cluster: Cluster) -> Findings:
    """NCCL writes verbose logs in production."""
    if cluster.spec.environment != "prod":
        return
    for name, profile in cluster.spec.nccl.profiles.items():
        path = ("spec", "nccl", "profiles", name)
        levels = {("debug",): profile.debug, ("env", "NCCL_DEBUG"): profile.env.get("NCCL_DEBUG", "").upper()}
        for keys, level in levels.items():
            if level in ("INFO", "TRACE"):
                message = f"{keys[-1]} of NCCL profile {name} is {level} in prod; expected WARN"
                yield Found((*path, *keys), message, f"set {keys[-1]} of NCCL profile {name} to WARN")
