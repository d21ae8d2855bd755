"""Every policy lets its allowed examples through and refuses its denied ones, and nothing of it is idle."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator

import pytest
import yaml
from kubernetes_cel import Object, Review, denials

from compiler.catalog.policies import PACKAGED, Policy, policies

POLICIES = policies()
LISTS = ("containers", "initContainers", "ephemeralContainers")


def examples(policy: Policy, verdict: str) -> list[tuple[str, Object]]:
    """(what the comment says, the object) of allowed.yaml or denied.yaml."""
    text = (PACKAGED / policy.name / f"{verdict}.yaml").read_text(encoding="utf-8")
    found = []
    for part in re.split(r"^---\n", text, flags=re.M):
        comment, _, _ = part.partition("\n")
        assert comment.startswith("# "), f"{policy.name}/{verdict}.yaml: an example says what it shows"
        found.append((comment[2:], yaml.safe_load(part)))
    return found


def cases(verdict: str) -> list[object]:
    return [
        pytest.param(policy, document, id=f"{policy.name}: {comment}")
        for policy in POLICIES.values()
        for comment, document in examples(policy, verdict)
    ]


def refusals(policy: Policy, document: Object) -> dict[int, str]:
    return denials(policy.variables, policy.validations, policy.sample, Review.of(document))


def matches(policy: Policy, document: Object) -> bool:
    group = document["apiVersion"].rpartition("/")[0]
    return any(group in entry["apiGroups"] and document["kind"] in entry["kinds"] for entry in policy.kinds)


@pytest.mark.parametrize(("policy", "document"), cases("allowed"))
def test_an_allowed_example_passes(policy: Policy, document: Object) -> None:
    assert refusals(policy, document) == {}
    assert matches(policy, Review.of(document).object)


@pytest.mark.parametrize(("policy", "document"), cases("denied"))
def test_a_denied_example_is_refused_with_a_message(policy: Policy, document: Object) -> None:
    found = refusals(policy, document)
    assert found
    assert all(found.values()), "an empty message is a messageExpression that failed"
    assert not any("\n" in message for message in found.values())
    assert matches(policy, Review.of(document).object)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_each_validation_alone_refuses_some_example(policy: Policy) -> None:
    alone = [found for _, document in examples(policy, "denied") if len(found := refusals(policy, document)) == 1]
    assert {index for found in alone for index in found} == set(range(len(policy.validations)))


def clauses(expression: str) -> Iterator[str]:
    """The expression with one operand of && or || taken away, one after the other."""
    for match in re.finditer(r"&&|\|\|", expression):
        neutral = "true" if match.group() == "&&" else "false"
        for start, end in (_operand(expression, match.start(), -1), _operand(expression, match.end(), 1)):
            yield expression[:start] + f" {neutral} " + expression[end:]


def _operand(text: str, at: int, step: int) -> tuple[int, int]:
    """Where the operand beside an operator begins and ends: up to the next operator, comma or open bracket."""
    opening, closing = ("([{", ")]}") if step > 0 else (")]}", "([{")
    depth, edge = 0, at
    quoted = False
    while 0 <= (here := edge if step > 0 else edge - 1) < len(text):
        letter = text[here]
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter in opening) - (letter in closing)
            if depth < 0 or depth == 0 and (letter in ",?" or letter == ":" or text[here : here + 2] in ("&&", "||")):
                break
            if step < 0 and depth == 0 and text[max(here - 1, 0) : here + 1] in ("&&", "||"):
                break
        edge += step
    return (at, edge) if step > 0 else (edge, at)


def verdicts(policy: Policy) -> list[set[int]]:
    documents = [document for verdict in ("allowed", "denied") for _, document in examples(policy, verdict)]
    return [set(refusals(policy, document)) for document in documents]


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_no_clause_is_idle(policy: Policy) -> None:
    """Each clause, taken away, changes the verdict on some example."""
    before = verdicts(policy)
    idle = []
    for place, changed in changed_policies(policy):
        try:
            if verdicts(changed) == before:
                idle.append(place)
        except Exception as broken:
            assert "compile" in str(broken).lower() or "ERROR" in str(broken), broken
    assert idle == []


def changed_policies(policy: Policy) -> Iterator[tuple[str, Policy]]:
    from dataclasses import replace

    for name, expression in policy.variables.items():
        for less in clauses(expression):
            yield f"{name}: {less}", replace(policy, variables=policy.variables | {name: less})
    for index, validation in enumerate(policy.validations):
        for less in clauses(validation["expression"]):
            changed = [*policy.validations]
            changed[index] = validation | {"expression": less}
            yield f"validation {index}: {less}", replace(policy, validations=tuple(changed))


def container_mutants() -> Iterator[object]:
    """Denied pods whose only container is the reason, once per list that containers stand in."""
    for policy in POLICIES.values():
        if not policy.judges_pods or policy.name in ("gpu-limits", "gpu-queue"):
            continue  # these count: ephemeral containers hold no devices, and init containers give theirs back
        for comment, document in examples(policy, "denied"):
            containers = document.get("spec", {}).get("containers", [])
            if document["kind"] != "Pod" or len(containers) != 1 or "spec" not in document:
                continue
            for name in LISTS:
                mutant = copy.deepcopy(document)
                mutant["spec"]["containers"] = [{"name": "other", "image": "registry.example.com/other:1"}]
                mutant["spec"][name] = mutant["spec"][name] + containers if name == "containers" else containers
                yield pytest.param(policy, mutant, id=f"{policy.name}: {name}: {comment}")


@pytest.mark.parametrize(("policy", "document"), container_mutants())
def test_a_container_is_refused_in_whichever_list_it_stands(policy: Policy, document: Object) -> None:
    assert refusals(policy, document)


def nulled(document: Object) -> Iterator[tuple[str, Object]]:
    """The object with one of the maps and lists that a policy looks into made null."""
    for key in ("containers", "initContainers", "ephemeralContainers"):
        changed = copy.deepcopy(document)
        changed["spec"][key] = None
        yield f"spec.{key}", changed


@pytest.mark.parametrize(
    "policy", [policy for policy in POLICIES.values() if "containers" in policy.variables], ids=lambda policy: policy.name
)
def test_null_lists_of_containers_are_refused(policy: Policy) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "research-train"}}
    pod["spec"] = {"containers": [{"name": "main", "image": "registry.example.com/train:1"}]}
    assert refusals(policy, pod) == {}
    for place, mutant in nulled(pod):
        assert refusals(policy, mutant), place
