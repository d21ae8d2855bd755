"""MIG profiles against the geometry of their boards: placements are searched, not summed."""

from __future__ import annotations

import re

import pytest

from gpuc.catalog import load
from gpuc.catalog.records import MigProfile, MigProfileSet

Instance = tuple[str, int, int]
"""Profile, first placement unit, placement units."""

SETS = {found.id: found for found in load().profile_sets.values()}
PROFILES = [profile for found in SETS.values() for profile in found.profiles.values()]
PLACED = [found for found in SETS.values() if found.placement_units]
GFD = re.compile(r"([1-9])g\.(\d+)gb(\+me\.all|\+me|\+gfx|-me)?")
SEVEN = [found for found in SETS.values() if any(name.startswith("7g.") for name in found.profiles)]

by_id = pytest.mark.parametrize("found", SETS.values(), ids=SETS)
by_profile = pytest.mark.parametrize("profile", PROFILES, ids=[f"{p.set}:{p.profile}" for p in PROFILES])


def overlap(one: Instance, other: Instance) -> bool:
    return one[1] < other[1] + other[2] and other[1] < one[1] + one[2]


def layouts(choices: list[Instance]) -> set[frozenset[Instance]]:
    """Every set of instances that do not overlap, the empty one too."""
    found: set[frozenset[Instance]] = {frozenset()}
    for choice in choices:
        found |= {layout | {choice} for layout in found if not any(overlap(choice, other) for other in layout)}
    return found


def maximal(choices: list[Instance]) -> set[frozenset[Instance]]:
    """The layouts to which no further instance can be added."""
    return {
        layout
        for layout in layouts(choices)
        if all(any(overlap(choice, other) for other in layout) for choice in choices)
    }


def instances(found: MigProfileSet, *, double_memory: bool) -> list[Instance]:
    return [
        (profile.profile, start, profile.size)
        for name, profile in found.profiles.items()
        if not profile.media and (double_memory or not name.startswith("1g.") or profile.memory_slices != 2)
        for start in profile.starts
    ]


@pytest.mark.parametrize("found", SEVEN, ids=lambda found: found.id)
def test_a_seven_slice_board_has_nineteen_maximal_layouts(found: MigProfileSet) -> None:
    assert len(maximal(instances(found, double_memory=False))) == 19
    assert len(maximal(instances(found, double_memory=True))) == 78


@by_profile
def test_placements_lie_on_the_board_and_are_known_together(profile: MigProfile) -> None:
    board = SETS[profile.set]
    assert bool(profile.starts) == bool(profile.size) == bool(board.placement_units)
    assert all(0 <= start <= board.placement_units - profile.size for start in profile.starts)
    assert profile.size * board.memory_slices == profile.memory_slices * board.placement_units
    assert profile.starts or profile.confidence == "low"


@by_profile
def test_the_profile_name_says_its_media_engines(profile: MigProfile) -> None:
    named = GFD.fullmatch(profile.profile)
    assert named
    assert profile.media == (named[3] or "").replace("+gfx", "").removeprefix("+")


@pytest.mark.parametrize("found", PLACED, ids=lambda found: found.id)
def test_the_memory_in_a_name_is_its_share_of_the_board(found: MigProfileSet) -> None:
    largest = max(int(named[2]) for name in found.profiles if (named := GFD.fullmatch(name)))
    for profile in found.profiles.values():
        named = GFD.fullmatch(profile.profile)
        assert named
        assert abs(int(named[2]) - largest * profile.memory_slices / found.memory_slices) < 1


def test_one_name_means_different_things_on_different_boards() -> None:
    assert len(SETS["a100-40gb"].profiles["1g.10gb"].starts) == 4
    assert len(SETS["a100-80gb"].profiles["1g.10gb"].starts) == 7
