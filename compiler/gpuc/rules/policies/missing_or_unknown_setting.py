from __future__ import annotations

from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc.rules import Findings, rule


@rule("POL002")
def missing_or_unknown_setting(cluster: Cluster) -> Findings:
    """A policy lacks a required setting, or has an unknown setting.

    Without its settings gpuc cannot write the policy and leaves it out. Nothing reads an unknown setting, although the
    spec suggests that it is on.
    """
    known = policies()
    for name, policy in cluster.spec.policies.items():
        if name != "default" and name not in known:
            continue
        settings = known[name].settings if name in known else {}
        given = policy.model_extra or {}
        path = ("spec", "policies", name)
        for key in sorted(given.keys() - settings.keys()):
            allowed = f"its settings are {', '.join(settings)}" if settings else "it has no settings"
            yield (*path, key), f"{name} has no setting {key}; {allowed}", f"remove {key}"
        missing = settings.keys() - given.keys()
        if missing:
            yield path, f"{name} needs a value for {', '.join(sorted(missing))}"
