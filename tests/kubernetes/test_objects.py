"""Objects are converted to small values, and malformed parts are read as the API server reads them."""

from typing import Any

import pytest

from gpuc.kubernetes.selector import NOTHING, equals, matches, requirement
from gpuc.kubernetes.toleration import Taint, Toleration, untolerated
from gpuc.objects.selectors import equal_labels, node_terms, selector, taints, tolerations
from tests.tables import table

CASES = table(__file__, "test_objects.yaml")


@pytest.mark.parametrize("raw", CASES["a_selector_that_is_refused_selects_nothing"])
def test_a_selector_that_is_refused_selects_nothing(raw: Any) -> None:
    assert selector(raw) == NOTHING


def test_a_selector_joins_its_labels_and_expressions() -> None:
    raw = {"matchLabels": {"a": "x"}, "matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["y"]}]}
    assert selector(raw) == (equals("a", "x"), requirement("b", "NotIn", ("y",)))
    assert selector({}) == () == selector({"matchLabels": None})
    assert equal_labels({"a": "no value!", "b": 1}) == (equals("a", "no value!"),)


def test_a_term_of_node_affinity_that_is_empty_or_wrong_selects_nothing() -> None:
    good = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    wrong = {"matchExpressions": [{"key": "a", "operator": "Gte", "values": ["1"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [good, {}, wrong]}}
    terms = node_terms({"nodeSelector": {"b": "x"}, "affinity": {"nodeAffinity": required}})
    assert [matches(term, {"a": "1", "b": "x"}) for term in terms] == [True, False, False]
    assert node_terms({"nodeSelector": {"b": "x"}}) == ((equals("b", "x"),),)
    assert node_terms(None) == ((),)


def test_tolerations_and_taints_of_a_wrong_shape_are_left_out() -> None:
    assert tolerations([{"key": "a", "operator": "Exists"}, {"key": 1}, {"value": True}, "a"]) == (
        Toleration("a", "Exists"),
    )
    found = taints([{"key": "a"}, {"key": "b", "effect": "PreferNoSchedule"}, {"key": "c", "effect": "NoSchedule"}])
    assert found == (Taint("b", "", "PreferNoSchedule", 1), Taint("c", "", "NoSchedule", 2))
    assert untolerated(found, ()) == found[1]
