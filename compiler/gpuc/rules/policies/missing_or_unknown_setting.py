from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


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
            yield (
                (*path, key),
                f"policy {name} has no setting {key}; {allowed}",
                f"remove setting {key} from policy {name}",
            )
        without_value = settings.keys() - given.keys()
        if without_value:
            yield path, f"policy {name} lacks required settings: {', '.join(sorted(without_value))}"
