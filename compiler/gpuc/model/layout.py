"""Finds out whether a MIG layout fits on a GPU: MIG instances may start only at certain positions of the GPU."""

from collections.abc import Mapping, Sequence

from gpuc.catalog.records import MigProfile, MigProfileSet
from gpuc.diagnostics.words import counted
from gpuc.objects.object_set import by_first


def place(layout: Mapping[str, int], profiles: MigProfileSet) -> dict[str, list[int]] | None:
    """Returns the start positions of the MIG instances of a layout, by profile; None if they do not fit on one GPU.

    Every profile of the layout must be in `profiles`. The search is short, because it places the largest instances
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
    return by_first((profile.profile, start) for profile, start in zip(instances, starts, strict=True))


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


def why_impossible(layout: Mapping[str, int], profiles: MigProfileSet) -> str:
    """Returns the message about a layout that does not fit on one GPU.

    The message has the number of placement units and the start positions of each profile, and smaller layouts that fit.
    """
    instances = ", ".join(f"{count} x {name}" for name, count in layout.items())
    taken = ", ".join(_taken(profiles.profiles[name]) for name in layout)
    units = profiles.placement_units
    actual = f"{instances} do not fit on one GPU {profiles.gpus[0]}, which has the placement units 0 to {units - 1}"
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
    return f"{profile.profile} takes {counted(profile.size, 'unit')} from unit {starts}"


def _fitting(layout: Mapping[str, int], profiles: MigProfileSet) -> list[dict[str, int]]:
    """Returns layouts that fit on one GPU.

    Each differs from the given layout only in one profile, with fewer instances.
    """
    found = []
    for name, count in layout.items():
        for fewer in range(min(count - 1, profiles.placement_units), -1, -1):
            smaller = {other: fewer if other == name else its_count for other, its_count in layout.items()}
            smaller = {other: its_count for other, its_count in smaller.items() if its_count}
            if smaller and place(smaller, profiles) is not None:
                found.append(smaller)
                break
    return found
