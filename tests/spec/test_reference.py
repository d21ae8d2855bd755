"""The reference of the spec: fields, effects, and the page in docs/."""

import pytest

from gpuc.cli.explain_command import explanation
from gpuc.diagnostics.usage import UsageError
from gpuc.spec.reference import effects, fields, path_text
from gpuc.spec.reference_text import find
from tests.conftest import ROOT
from tests.derive.reference_page import page
from tests.pipeline.effects import REASONS, measured, places


@pytest.mark.parametrize(
    "path",
    [
        "pools.nodes.max",
        "spec.pools.nodes.max",
        "pools.*.nodes.max",
        "pools.<pool>.nodes.max",
        "pools.train-h100.nodes.max",
    ],
)
def test_a_field_has_one_description_for_all_forms_of_its_path(path: str) -> None:
    text = explanation(path)
    assert text.startswith("pools.<pool>.nodes.max\n")
    assert "Type:     a whole number from 1 to 100000\nUnit:     nodes\nDefault:  none\n" in text
    assert "NodePool in karpenter/pools/*.yaml\n" in text and "spec.limits.nodes" in text


def test_elements_of_lists_may_have_indexes() -> None:
    expected = "tenants.*.network.egress[].ports[].port"
    for path in (expected, "tenants.search.network.egress[0].ports[1].port", "tenants.network.egress.ports.port"):
        assert path_text(find(path) or ()) == expected
    assert path_text(find("tenants.search.members[0].role") or ()) == "tenants.*.members.role"


def test_a_section_lists_its_fields() -> None:
    lines = explanation("pools").splitlines()
    assert lines[0] == "pools"
    assert "    <pool>.purpose" in " ".join(lines) and not any("nodes.max" in line for line in lines)


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("pools.nodes.maximum", "pools.<pool>.nodes.max"),
        ("idleAfter", "pools.<pool>.eks.idleAfter"),
        ("tenant", "tenants"),
    ],
)
def test_an_unknown_path_suggests_a_similar_one(path: str, meant: str) -> None:
    with pytest.raises(UsageError) as error:
        explanation(path)
    assert f"(did you mean {meant}?)" in str(error.value)


def test_every_field_that_an_example_sets_has_an_effect_or_a_reason() -> None:
    set_in_examples = {path_text(steps) for steps in places()} & {field.path for field in fields().values()}
    assert set_in_examples <= effects().keys()
    assert {path for path, entry in effects().items() if "why" in entry} == REASONS.keys()


@pytest.mark.share(4)
@pytest.mark.parametrize(
    "path", ["queues.*.weight", "pools.*.eks.idleAfter", "cloud.aws.eksCluster", "priorities.*.value"]
)
def test_the_effects_are_those_of_a_compile(path: str) -> None:
    steps = next(steps for steps, field in fields().items() if field.path == path)
    assert measured(steps) == effects()[path], "run `make generate`"


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs/reference.md").read_text(encoding="utf-8") == page(), "run `make generate`"


def test_every_number_has_a_unit() -> None:
    numbers = [field for field in fields().values() if field.type.startswith("a whole number")]
    assert numbers and [field.path for field in numbers if not field.unit] == []
