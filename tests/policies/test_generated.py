"""Policies with generated objects. The conformance tests check the same objects with gator."""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from gpuc.cel.quantity import quantity
from gpuc.policy.library import Policy, policies

from .clauses import SHARED, weakened, with_variable, without_a_clause, without_a_part
from .generated import Object, objects, spellings, text
from .kubernetes_cel import Review, denials

MANY = 1800
"""With this number of objects, every element of every list occurs in a test case."""

every_policy = pytest.mark.parametrize("name", policies())
policies_on_one_object = pytest.mark.parametrize("name", [name for name in policies() if name != "owned-workloads"])
"""owned-workloads compares owner, labels and spec of two objects; random pairs rarely differ in one of them.

tests/policies/test_examples.py tests each clause of this policy with examples.
"""


@cache
def made(name: str, count: int = 400) -> list[Object]:
    return objects(policies()[name], count)


def verdict(policy: Policy, document: Object) -> dict[int, str]:
    return denials(policy.variables, policy.validations, policy.sample, Review.of(document))


@pytest.mark.share(3)
@every_policy
def test_the_same_seed_makes_the_same_objects_and_another_makes_others(name: str) -> None:
    policy = policies()[name]
    assert objects(policy, 50) == objects(policy, 50) == made(name)[:50]
    assert objects(policy, 50, seed=1) != made(name)[:50]


@pytest.mark.share(3)
@policies_on_one_object
def test_many_objects_pass_many_are_refused_and_each_validation_refuses_some_alone(name: str) -> None:
    found = [verdict(policies()[name], document) for document in made(name)]
    share = sum(map(bool, found)) / len(found)
    assert 0.06 <= share <= 0.8
    alone = {index for indexes in found if len(indexes) == 1 for index in indexes}
    assert alone == set(range(len(policies()[name].validations)))


@pytest.mark.share(3)
@every_policy
def test_a_verdict_does_not_depend_on_earlier_objects(name: str) -> None:
    policy = policies()[name]
    forwards = [verdict(policy, document) for document in made(name)[:100]]
    copied = [verdict(policy, copy.deepcopy(document)) for document in reversed(made(name)[:100])]
    assert forwards == copied[::-1]


def lesser(expression: str) -> Iterator[str]:
    """Yields the expression without one clause, one list of a sum of lists, or one element of a list."""
    yield from without_a_clause(expression)
    yield from without_a_part(expression)


@cache
def verdicts(name: str) -> list[list[int]]:
    return [sorted(verdict(policies()[name], document)) for document in made(name, MANY)]


def is_idle(policy: Policy) -> bool:
    """Returns whether a mutated policy denies the same objects for the same reasons."""
    rows = zip(made(policy.name, MANY), verdicts(policy.name), strict=True)
    return all(sorted(verdict(policy, document)) == refused for document, refused in rows)


@pytest.mark.slow
@policies_on_one_object
def test_whatever_is_taken_from_a_policy_changes_a_verdict(name: str) -> None:
    assert [less for less, weaker in weakened(policies()[name], lesser) if is_idle(weaker)] == []


@pytest.mark.share(4)
@pytest.mark.parametrize("name", SHARED)
def test_whatever_is_taken_from_a_shared_variable_changes_a_verdict_of_some_policy(name: str) -> None:
    users = [policy for policy in policies().values() if name in policy.variables]
    assert users
    for less in lesser(SHARED[name]):
        assert not all(is_idle(with_variable(policy, name, less)) for policy in users), less


def with_amount(amount: Any) -> Object:
    limits = {"nvidia.com/gpu": amount, "cpu": "1", "memory": "1Gi"}
    container = {"name": "c", "image": "registry.example.com/train:1", "resources": {"limits": limits}}
    metadata = {"name": "x", "namespace": "research-train", "labels": {"kueue.x-k8s.io/queue-name": "research"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


@pytest.mark.parametrize("count", [1, 8, 9])
@pytest.mark.parametrize(
    "name", [name for name, policy in policies().items() if any("Pod" in entry["kinds"] for entry in policy.kinds)]
)
def test_a_quantity_means_the_same_in_every_spelling(name: str, count: int) -> None:
    found = {tuple(verdict(policies()[name], with_amount(spelling))) for spelling in spellings(count)}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("written", "integer"),
    [
        ("8", 8), ("+8", 8), ("-8", -8), ("08", 8), ("8.", 8), ("8e0", 8), ("8E0", 8), ("1k", 1000), ("1.5k", 1500),
        (".5k", 500), ("2Ki", 2048), ("4Gi", 4 * 2**30), ("000", 0), ("8.0", None), ("8000m", None), ("0.5", None),
        ("1.0Ki", None), ("8e-1", None), ("1Ei", None), ("9E", 9 * 10**18), ("10E", None),
        ("1234567890123456789", None),
    ],
)  # fmt: skip
def test_what_go_holds_as_an_integer(written: str, integer: int | None) -> None:
    if integer is not None:
        assert quantity(written).as_integer() == integer
        return
    with pytest.raises(ValueError, match="cannot convert"):
        quantity(written).as_integer()


@pytest.mark.parametrize("written", ["", " 8", "8 ", "8K", "eight", "8ki", "1e", "--8", "8mm", "1_000", "0x8"])
def test_what_is_no_quantity(written: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity(written)


@every_policy
def test_objects_of_all_sorts_are_made(name: str) -> None:
    documents = made(name)
    reviews = [document["request"] for document in documents if document["kind"] == "AdmissionReview"]
    assert {review["operation"] for review in reviews} == {"CREATE", "UPDATE"}
    whole = "\n".join(map(text, documents))
    assert "null" in whole
    kinds = {kind for row in policies()[name].kinds for kind in row["kinds"]}
    assert all(f'"kind": "{kind}"' in whole for kind in kinds)
    for field in (
        ("containers", "initContainers", "ephemeralContainers") if "containers" in policies()[name].variables else ()
    ):
        assert f'"{field}": [{{' in whole
