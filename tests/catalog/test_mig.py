"""MIG profiles fit the geometry of their GPU boards."""

import re

import pytest

from gpuc.catalog import load
from gpuc.catalog.records import MigProfile, MigProfileSet

Instance = tuple[str, int, int]
"""Profile, first placement unit, placement units."""

SETS = {profile_set.id: profile_set for profile_set in load().profile_sets.values()}
PROFILES = [profile for profile_set in SETS.values() for profile in profile_set.profiles.values()]
PLACED = [profile_set for profile_set in SETS.values() if profile_set.placement_units]
GFD = re.compile(r"([1-9])g\.(\d+)gb(\+me\.all|\+me|\+gfx|-me)?")
SEVEN = [profile_set for profile_set in SETS.values() if any(name.startswith("7g.") for name in profile_set.profiles)]

by_id = pytest.mark.parametrize("profile_set", SETS.values(), ids=SETS)
by_profile = pytest.mark.parametrize("profile", PROFILES, ids=[f"{p.set}:{p.profile}" for p in PROFILES])


def overlap(first: Instance, second: Instance) -> bool:
    return first[1] < second[1] + second[2] and second[1] < first[1] + first[2]


def layouts(choices: list[Instance]) -> set[frozenset[Instance]]:
    """All sets of instances without overlap, including the empty set."""
    found: set[frozenset[Instance]] = {frozenset()}
    for choice in choices:
        found |= {layout | {choice} for layout in found if not any(overlap(choice, other) for other in layout)}
    return found


def maximal(choices: list[Instance]) -> set[frozenset[Instance]]:
    """The layouts to which no instance can be added."""
    return {
        layout
        for layout in layouts(choices)
        if all(any(overlap(choice, other) for other in layout) for choice in choices)
    }


def instances(profile_set: MigProfileSet, *, double_memory: bool) -> list[Instance]:
    return [
        (profile.profile, start, profile.size)
        for name, profile in profile_set.profiles.items()
        if not profile.media and (double_memory or not name.startswith("1g.") or profile.memory_slices != 2)
        for start in profile.starts
    ]


@pytest.mark.parametrize("profile_set", SEVEN, ids=lambda profile_set: profile_set.id)
def test_a_seven_slice_board_has_nineteen_maximal_layouts(profile_set: MigProfileSet) -> None:
    assert len(maximal(instances(profile_set, double_memory=False))) == 19
    assert len(maximal(instances(profile_set, double_memory=True))) == 78


@by_profile
def test_placements_are_on_the_board_and_complete(profile: MigProfile) -> None:
    board = SETS[profile.set]
    assert bool(profile.starts) == bool(profile.size) == bool(board.placement_units)
    assert all(0 <= start <= board.placement_units - profile.size for start in profile.starts)
    assert profile.size * board.memory_slices == profile.memory_slices * board.placement_units
    assert profile.starts or profile.confidence == "low"


@by_profile
def test_the_profile_name_contains_its_media_engines(profile: MigProfile) -> None:
    named = GFD.fullmatch(profile.profile)
    assert named
    assert profile.media == (named[3] or "").replace("+gfx", "").removeprefix("+")


@pytest.mark.parametrize("profile_set", PLACED, ids=lambda profile_set: profile_set.id)
def test_the_memory_in_a_name_is_the_part_of_the_board(profile_set: MigProfileSet) -> None:
    largest = max(int(named[2]) for name in profile_set.profiles if (named := GFD.fullmatch(name)))
    for profile in profile_set.profiles.values():
        named = GFD.fullmatch(profile.profile)
        assert named
        assert abs(int(named[2]) - largest * profile.memory_slices / profile_set.memory_slices) < 1


def test_a_profile_name_has_different_placements_on_different_boards() -> None:
    assert len(SETS["a100-40gb"].profiles["1g.10gb"].starts) == 4
    assert len(SETS["a100-80gb"].profiles["1g.10gb"].starts) == 7
