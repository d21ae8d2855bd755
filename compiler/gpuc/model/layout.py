"""Placement of MIG layouts on a GPU. An exact search is necessary: instances may start only at certain positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuc.catalog.records import MigProfile, MigProfileSet


def place(layout: Mapping[str, int], profiles: MigProfileSet) -> dict[str, list[int]] | None:
    """Returns the start positions of MIG instances by profile, or None if the layout does not fit on one GPU.

    Every profile of the layout must be in the profile set. The search is short, because it places the largest instances
    first, and because a GPU has at most eight placement units and seven instances.

    Source: NVIDIA MIG user guide r620, supported placements
    """
    instances = [profiles.profiles[name] for name, count in layout.items() for _ in range(count)]
    if sum(profile.memory_slices for profile in instances) > profiles.placement_units:
        return None
    instances.sort(key=lambda profile: (-profile.size, len(profile.starts), profile.profile))
    starts = _search(instances, frozenset(), profiles.placement_units)
    if starts is None:
        return None
    placed: dict[str, list[int]] = {}
    for profile, start in zip(instances, starts, strict=True):
        placed.setdefault(profile.profile, []).append(start)
    return placed


def _search(instances: Sequence[MigProfile], taken: frozenset[int], units: int) -> list[int] | None:
    if not instances:
        return []
    first, *others = instances
    for start in first.starts:
        span = frozenset(range(start, start + first.size))
        if max(span) < units and not span & taken:
            rest = _search(others, taken | span, units)
            if rest is not None:
                return [start, *rest]
    return None
