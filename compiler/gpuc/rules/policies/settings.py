"""The names and settings of policies."""

from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule
from gpuc.rules.policies.stages import unknown_names


@rule("POL003")
def invalid_setting(cluster: Cluster) -> Findings:
    """A setting of a policy has an invalid value.

    The API server refuses the Constraint, or the policy compares objects with a value that never matches.
    """
    known = cluster.known_policies
    for name, policy in cluster.policy_specs.items():
        settings = known[name].settings if name in known else {}
        for key, value in (policy.model_extra or {}).items():
            if key in settings:
                import jsonschema_rs

                for error in jsonschema_rs.validator_for(settings[key]).iter_errors(value):
                    yield Found(
                        ("spec", "policies", name, key, *error.instance_path),
                        f"setting {key} of policy {name} is invalid: {error.message}",
                    )


@rule("POL002")
def missing_or_unknown_setting(cluster: Cluster) -> Findings:
    """A policy lacks a required setting, or has an unknown setting.

    gpuc leaves out a policy without its required settings, and ignores unknown settings.
    """
    known = cluster.known_policies
    for name, policy in cluster.policy_specs.items():
        if name != "default" and name not in known:
            continue
        settings = known[name].settings if name in known else {}
        given = policy.model_extra or {}
        path = ("spec", "policies", name)
        for key in sorted(given.keys() - settings.keys()):
            allowed = f"expected {', '.join(settings)}" if settings else "expected no settings"
            yield Found(
                (*path, key),
                f"policy {name} has no setting {key}; {allowed}",
                f"remove setting {key} from policy {name}",
            )
        without_value = settings.keys() - given.keys()
        if without_value:
            yield Found(path, f"policy {name} lacks required settings: {', '.join(sorted(without_value))}")


@rule("POL001")
def unknown_policy(cluster: Cluster) -> Findings:
    """The spec configures a policy that does not exist.

    The name may be misspelled. In this case the cluster admits objects that the intended policy would deny.
    """
    known = cluster.known_policies
    for name, meant in unknown_names(cluster):
        message = f"policy {name} does not exist; expected one of {', '.join(known)}"
        fix = f"rename policy {name} to {meant}" if meant else ""
        yield Found(("spec", "policies", name), message, fix, on_key=True)
