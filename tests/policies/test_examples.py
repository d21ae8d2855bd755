"""Every policy allows its allowed examples and denies its denied examples, and all of its clauses have an effect."""

import copy
import re
from functools import cache

import pytest

from gpuc.documents.reader import load_yaml
from gpuc.policy.library import Policy, policies
from tests.derive.policies import SOURCES

from .clauses import SHARED, weakened, with_variable, without_a_clause
from .kubernetes_cel import Object, Review, denials

POLICIES = policies()
LISTS = ("containers", "initContainers", "ephemeralContainers")
# The other policies count devices, which ephemeral containers cannot have.
LOOKING_AT_CONTAINERS = [policy for policy in POLICIES.values() if "containers" in policy.variables]

every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)


def examples(policy: Policy, verdict: str) -> list[tuple[str, Object]]:
    """Returns the pairs (comment, object) of allowed.yaml or denied.yaml. Tests must not change the objects."""
    return _examples(policy.name, verdict)


@cache
def _examples(policy: str, verdict: str) -> list[tuple[str, Object]]:
    text = (SOURCES / policy / f"{verdict}.yaml").read_text(encoding="utf-8")
    found = []
    for part in re.split(r"^---\n", text, flags=re.MULTILINE):
        comment, _, _ = part.partition("\n")
        assert comment.startswith("# "), f"{policy}/{verdict}.yaml: an example needs a comment that describes it"
        found.append((comment[2:], load_yaml(part)))
    return found


def refusals(policy: Policy, document: Object) -> dict[int, str]:
    return denials(policy.variables, policy.validations, policy.sample, Review.of(document))


def matches(policy: Policy, document: Object) -> bool:
    group = document["apiVersion"].rpartition("/")[0]
    return any(group in entry["apiGroups"] and document["kind"] in entry["kinds"] for entry in policy.kinds)


def verdicts(policy: Policy) -> list[bool]:
    """Returns whether the policy denies the examples, in order."""
    documents = [document for side in ("allowed", "denied") for _, document in examples(policy, side)]
    return [bool(refusals(policy, document)) for document in documents]


@every_policy
def test_the_allowed_examples_pass(policy: Policy) -> None:
    for comment, document in examples(policy, "allowed"):
        assert refusals(policy, document) == {}, comment
        assert matches(policy, Review.of(document).object), comment


@every_policy
def test_the_denied_examples_are_refused_with_a_message_on_one_line(policy: Policy) -> None:
    for comment, document in examples(policy, "denied"):
        found = refusals(policy, document)
        assert found, comment
        assert all(message and "\n" not in message for message in found.values()), comment
        assert matches(policy, Review.of(document).object), comment


@every_policy
def test_each_validation_alone_refuses_some_example(policy: Policy) -> None:
    refused = [refusals(policy, document) for _, document in examples(policy, "denied")]
    assert {index for found in refused if len(found) == 1 for index in found} == set(range(len(policy.validations)))


@pytest.mark.share(7)
@every_policy
def test_no_clause_is_idle(policy: Policy) -> None:
    """The removal of any own clause of the policy changes the verdict on an example."""
    before = verdicts(policy)
    assert [less for less, weaker in weakened(policy, without_a_clause) if verdicts(weaker) == before] == []


@pytest.mark.parametrize("name", SHARED)
def test_no_clause_of_a_shared_variable_is_idle(name: str) -> None:
    """The removal of any clause of the variables of the subject changes the verdict on an example of a policy."""
    users = [(policy, verdicts(policy)) for policy in POLICIES.values() if name in policy.variables]
    assert users
    for less in without_a_clause(SHARED[name]):
        assert any(verdicts(with_variable(policy, name, less)) != before for policy, before in users), less


@pytest.mark.parametrize("policy", LOOKING_AT_CONTAINERS, ids=lambda policy: policy.name)
def test_a_container_is_denied_in_all_container_lists(policy: Policy) -> None:
    for comment, document in examples(policy, "denied"):
        spec = document.get("spec", {})
        if len(spec.get("containers", [])) != 1 or set(LISTS[1:]) & set(spec):
            continue
        for name in LISTS:
            moved = copy.deepcopy(document)
            reason = moved["spec"].pop("containers")
            moved["spec"]["containers"] = [{"name": "other", "image": "registry.example.com/other:1"}]
            moved["spec"][name] = [*moved["spec"].get(name, []), *reason]
            assert refusals(policy, moved), f"{name}: {comment}"


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("policy", LOOKING_AT_CONTAINERS, ids=lambda policy: policy.name)
def test_a_null_list_of_containers_is_refused(policy: Policy, name: str) -> None:
    spec: Object = {"containers": [{"name": "main", "image": "registry.example.com/train:1"}]}
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "research-train"}}
    assert refusals(policy, pod | {"spec": spec}) == {}
    assert refusals(policy, pod | {"spec": spec | {name: None}})
