"""Units of quotas in words."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuc.model import Pool
from gpuc.model.names import GPU, SHARED_GPU, mig_profile, mig_resource
from gpuc.model.sharing import Layout, Sharing
from gpuc.model.units import Unit, quota_text, quota_unit, unit_amounts, unit_name, with_unit
from gpuc.spec.queues import PoolAmount
from tests.conftest import example

SMALL: Layout = (("1g.10gb", 7),)
MIXED: Layout = (("1g.10gb+me", 1), ("3g.40gb", 1))


def pool_with(sharing: Sharing | None) -> Pool:
    """A node pool with other GPU sharing."""
    return replace(example("vega-prod").pools[0], sharing=sharing)


@pytest.mark.parametrize(
    ("sharing", "resource", "unit"),
    [
        (Sharing("exclusive"), GPU, "GPUs"),
        (Sharing("timeSlicing", 4), SHARED_GPU, "GPU shares"),
        (Sharing("mps", 4), GPU, "GPU shares"),
        (Sharing("mig", strategy="mixed", layouts=(MIXED, ())), GPU, "whole GPUs"),
        (Sharing("mig", strategy="mixed", layouts=(MIXED, ())), mig_resource("3g.40gb"), "3g.40gb slices"),
        (Sharing("mig", strategy="mixed", layouts=(MIXED, ())), mig_resource("1g.10gb+me"), "1g.10gb+me slices"),
        (Sharing("mig", strategy="single", layouts=(SMALL, SMALL)), GPU, "1g.10gb slices"),
        (Sharing("mig", strategy="single", layouts=(MIXED, ())), GPU, "slices"),
        (None, GPU, "GPUs"),
        (None, "services.nodeports", "node ports"),
        (None, "cpu", ""),
    ],
)
def test_a_resource_has_one_unit(sharing: Sharing | None, resource: str, unit: str) -> None:
    assert unit_name(pool_with(sharing), resource) == unit


@given(st.from_regex(r"[1-9]g\.[0-9]+gb(\+me\.all|\+me|\+gfx|-me)?", fullmatch=True))
def test_a_profile_has_its_resource(profile: str) -> None:
    assert mig_profile(mig_resource(profile)) == profile


def test_a_number_has_one_word_order() -> None:
    texts = [with_unit(1, "nodes"), with_unit(28, "1g.10gb slices"), with_unit(1, "GPU shares")]
    assert texts == ["1 node", "28 1g.10gb slices", "1 GPU share"]
    assert with_unit(Fraction(5, 2), "GPUs") == "2.5 GPUs"


def test_an_amount_of_the_spec_has_the_units_of_its_pool() -> None:
    pool = pool_with(Sharing("mig", strategy="mixed", layouts=(SMALL, ())))
    amounts = unit_amounts(pool, PoolAmount(gpus=4, slices={"1g.10gb": 28}))
    assert amounts == {"whole GPUs": 4, "1g.10gb slices": 28}


def test_a_quota_in_nodes_also_names_what_the_nodes_contain() -> None:
    pools = {pool.name: pool for pool in example("prod-use1").pools}
    assert quota_text(pools["train-h100"], PoolAmount(nodes=10)) == "10 nodes (80 GPUs)"
    assert quota_text(pools["lab-h100"], PoolAmount(gpus=4, slices={"3g.40gb": 8})) == "4 whole GPUs, 8 3g.40gb slices"
    assert quota_text(pools["dev-l4"], PoolAmount(nodes=1)) == "1 node (16 GPU shares)"
    assert quota_text(pools["general"], PoolAmount(nodes=5)) == "5 nodes"


def test_limits_in_a_unit() -> None:
    nodes = quota_unit(pool_with(None), "cpu", in_nodes=True)
    assert nodes.count(3 * nodes.size + 1) == 3
    assert nodes.span(10, 6) == "from 10 to 6 nodes"
    assert nodes.instead(6, 2) == "at most 2 instead of 6 nodes"
    assert nodes.instead(6, None) == "any amount instead of at most 6 nodes"
    assert Unit("cpu", "").text(1500) == "1.5 cpu"
