"""Explains why a MIG layout does not fit on a GPU."""

from __future__ import annotations

from collections.abc import Mapping

from gpuc.catalog.records import MigProfile, MigProfileSet
from gpuc.model.layout import place


def why_impossible(layout: Mapping[str, int], profiles: MigProfileSet) -> str:
    """Returns the message about a layout that does not fit: what each profile takes, and smaller layouts that fit."""
    instances = ", ".join(f"{count} x {name}" for name, count in layout.items())
    taken = ", ".join(_taken(profiles.profiles[name]) for name in layout)
    actual = f"{instances} do not fit on one {profiles.gpus[0]} with {profiles.placement_units} placement units"
    smaller = [
        f"{{{', '.join(f'{name}: {count}' for name, count in fitting.items())}}}"
        for fitting in _fitting(layout, profiles)
    ]
    return f"{actual}: {taken}" + (f"; expected for example {' or '.join(smaller)}" if smaller else "")


def _taken(profile: MigProfile) -> str:
    first, last = profile.starts[0], profile.starts[-1]
    starts = f"{first}"
    if len(profile.starts) > 2 and profile.starts == tuple(range(first, last + 1)):
        starts = f"{first} to {last}"
    elif len(profile.starts) > 1:
        starts = f"{', '.join(map(str, profile.starts[:-1]))} or {last}"
    return f"{profile.profile} takes {profile.size} and starts at {starts}"


def _fitting(layout: Mapping[str, int], profiles: MigProfileSet) -> list[dict[str, int]]:
    """Returns the largest layouts that fit and have fewer instances of only one profile."""
    found = []
    for name, count in layout.items():
        for fewer in range(min(count - 1, profiles.placement_units), -1, -1):
            smaller = {other: fewer if other == name else its_count for other, its_count in layout.items()}
            smaller = {other: its_count for other, its_count in smaller.items() if its_count}
            if smaller and place(smaller, profiles) is not None:
                found.append(smaller)
                break
    return found
