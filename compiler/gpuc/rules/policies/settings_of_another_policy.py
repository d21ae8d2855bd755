from __future__ import annotations

from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc.rules import Findings, rule


@rule("POL002")
def settings_of_another_policy(cluster: Cluster) -> Findings:
    """A policy lacks a setting that it needs, or has one that it does not read.

    Without its settings a policy cannot judge and is left out; a setting that nobody reads is believed to be on.
    """
    known = policies()
    for name, policy in cluster.spec.policies.items():
        if name != "default" and name not in known:
            continue
        settings = known[name].settings if name in known else {}
        given = policy.model_extra or {}
        path = ("spec", "policies", name)
        for key in sorted(given.keys() - settings.keys()):
            takes = f"it takes {', '.join(settings)}" if settings else "it takes none"
            yield (*path, key), f"{name} has no setting {key}; {takes}", f"remove {key}"
        missing = settings.keys() - given.keys()
        if missing:
            yield path, f"{name} needs {', '.join(sorted(missing))}"
