"""The search for MIG placements agrees with an exhaustive search."""

from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc.catalog import load
from gpuc.model.layout import place
from tests.tables import table

CASES = table(__file__, "test_layout.yaml")

PLACED = sorted(gpu for gpu, profiles in load().profile_sets.items() if profiles.placement_units)


def exhaustive(layout: dict[str, int], gpu: str) -> bool:
    """Returns whether a choice of start positions without overlap exists."""
    profiles = load().profile_sets[gpu]
    wanted = [profiles.profiles[name] for name, count in layout.items() for _ in range(count)]
    for starts in product(*(profile.starts for profile in wanted)):
        units = [
            unit for profile, start in zip(wanted, starts, strict=True) for unit in range(start, start + profile.size)
        ]
        if len(units) == len(set(units)):
            return True
    return False


@pytest.mark.parametrize(("gpu", "layout", "fits"), CASES["known_layouts"])
def test_known_layouts(gpu: str, layout: dict[str, int], fits: bool) -> None:
    assert (place(layout, load().profile_sets[gpu]) is not None) is fits


@given(st.sampled_from(PLACED), st.data())
def test_the_search_agrees_with_an_exhaustive_search(gpu: str, data: st.DataObject) -> None:
    profiles = load().profile_sets[gpu].profiles
    names = data.draw(st.lists(st.sampled_from(sorted(profiles)), min_size=1, max_size=5))
    layout = {name: names.count(name) for name in names}
    assert (place(layout, load().profile_sets[gpu]) is not None) == exhaustive(layout, gpu)


def test_placements_have_allowed_starts_and_no_overlap() -> None:
    for gpu in PLACED:
        profiles = load().profile_sets[gpu]
        for pair in combinations_with_replacement(sorted(profiles.profiles), 2):
            layout = {name: pair.count(name) for name in pair}
            placed = place(layout, profiles)
            if placed is None:
                continue
            assert {name: len(starts) for name, starts in placed.items()} == layout
            units = [
                unit
                for name, starts in placed.items()
                for start in starts
                for unit in range(start, start + profiles.profiles[name].size)
            ]
            assert len(units) == len(set(units))
            assert all(start in profiles.profiles[name].starts for name, starts in placed.items() for start in starts)
