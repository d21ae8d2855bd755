from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


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
                    yield (
                        ("spec", "policies", name, key, *error.instance_path),
                        f"setting {key} of policy {name} is invalid: {error.message}",
                    )
