from __future__ import annotations

from difflib import get_close_matches

from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc.rules import Breaches, rule


@rule("POL001")
def unknown_policy(cluster: Cluster) -> Breaches:
    """A policy does not exist.

    Nothing is refused that it was meant to refuse.
    """
    known = policies()
    for name in cluster.spec.policies:
        if name != "default" and name not in known:
            near = get_close_matches(name, [*known, "default"], 1, 0.6)
            message = f"there is no policy {name}; there are {', '.join(known)}"
            yield ("spec", "policies", name), message, f"write {near[0]}" if near else ""
