"""Stages of policies, for rules that require the stage deny."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpuc.diagnostics.spelling import nearest
from gpuc.model import Cluster


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
