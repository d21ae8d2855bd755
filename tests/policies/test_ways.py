"""The ways around policies: what the policies and the roles of members answer, without a control plane.

`python -m tests.policies.test_ways` writes the rows of tests/REAL_CLUSTER.md.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from gpuc.customize.merge import merge_patch
from gpuc.kubernetes.resource_name import plural
from gpuc.policy.library import policies
from gpuc_rehearsal.sample_namespaces import SampleNamespaces
from gpuc_rehearsal.sample_workloads import WorkloadFactory, creator
from gpuc_rehearsal.suites.policies import emitted_name
from gpuc_rehearsal.suites.ways import Way, applies, change, chosen_factory, sample, ways
from tests.conftest import EXAMPLES, ROOT, compiled_example, example

from .kubernetes_cel import Object, Review, denials
from .test_constraints import constraints

PAGE = ROOT / "tests/REAL_CLUSTER.md"
ANSWERS = {
    "rights": "no role of members allows it",
    "server": "the API server refuses it",
    "policy": "the policy refuses it",
}
SEEN_BY_THE_SERVER = ("delete", "scale")
"""Requests whose answers need more of the API server than policies and roles."""

every_cluster = pytest.mark.parametrize("name", EXAMPLES)


def factory_of(name: str) -> WorkloadFactory:
    factory = chosen_factory(example(name))
    assert factory is not None
    return factory


def rows(factory: WorkloadFactory) -> Iterator[Way]:
    return (way for way in ways() if applies(factory, SampleNamespaces(factory.cluster), way))


def refusing(factory: WorkloadFactory, way: Way) -> set[str]:
    """Returns the policies that refuse the request of a row."""
    document: Object = sample(factory, way, "x")
    before = None if way.change is None else document
    after = document if before is None else merge_patch(document, change(factory, way), lambda _: None)
    user = "member" if way.user == "member" else way.user or creator(factory, document) or "member"
    operation = "CREATE" if before is None else "UPDATE"
    review = Review(after, before, {"operation": operation, "userInfo": {"username": user}})
    parameters = {row.name: row.body["spec"].get("parameters", {}) for row in constraints(factory.cluster)}
    group = document["apiVersion"].rpartition("/")[0]
    return {
        policy.name
        for policy in policies().values()
        if any(group in row["apiGroups"] and document["kind"] in row["kinds"] for row in policy.kinds)
        and denials(policy.variables, policy.validations, parameters[emitted_name(factory, policy.name)], review)
    }


@every_cluster
def test_policies_refuse_the_ways_or_allow_them_for_a_reason(name: str) -> None:
    factory, wrong = factory_of(name), {}
    for way in rows(factory):
        if way.answer in ("policy", "allowed") and not {way.verb, way.subresource} & set(SEEN_BY_THE_SERVER):
            found = refusing(factory, way)
            expected = {way.by or way.policy} if way.answer == "policy" else set()
            if not (expected <= found if expected else not found):
                wrong[way.way] = found
    assert wrong == {}


def may(name: str, role: str, way: Way) -> bool:
    """Returns whether a role of members allows the request of a row."""
    group, kind = way.kind[0].rpartition("/")[0], way.kind[1]
    resource = "/".join(filter(None, (plural(group, kind), way.subresource)))
    rules: list[Any] = next(
        row.body["rules"] for row in compiled_example(name).synced if row.name == f"gpuc-{role}" and row.kind == "Role"
    )
    return any(
        group in rule["apiGroups"] and resource in rule["resources"] and way.verb in rule["verbs"] for rule in rules
    )


@every_cluster
def test_roles_do_not_allow_what_no_policy_sees(name: str) -> None:
    factory = factory_of(name)
    role = factory.tenant.role_of(factory.tenant.editors(factory.namespace)[0], factory.namespace)
    assert role == "edit"
    assert [
        way.way
        for way in rows(factory)
        if way.user in ("", "member") and may(name, role, way) == (way.answer == "rights")
    ] == []


def test_every_policy_has_ways_and_every_allowed_way_has_a_reason() -> None:
    assert {way.policy for way in ways()} == set(policies())
    assert {way.way for way in ways() if bool(way.because) != (way.answer == "allowed")} == set()
    assert {way.way for way in ways() if way.answer == "server" and not way.says} == set()
    assert len({(way.policy, way.way) for way in ways()}) == len(ways())


def test_every_row_applies_to_an_example_or_needs_a_kind_of_no_example() -> None:
    applied = {way.way for name in EXAMPLES for way in rows(factory_of(name))}
    assert {way.of for way in ways() if way.way not in applied} <= {
        "kubeflow.org/v1 PyTorchJob",
        "ray.io/v1 RayJob",
        "cilium.io/v2 CiliumNetworkPolicy",
    }


def lines() -> list[str]:
    """Returns the rows of the page: number, fact, source, test."""
    made = []
    for way in ways():
        answer = ANSWERS.get(way.answer) or f"allowed, because {way.because}"
        source = way.source or (
            "compiler/gpuc/emit/roles.toml" if way.answer == "rights" else f"policies/{way.policy}/policy.yaml"
        )
        test = "rehearsal: suite ways; tests/policies/test_ways.py"
        made.append(f"| W | {way.policy}: {way.way}: {answer}. | {source} | {test} |")
    return made


def test_the_page_has_all_ways() -> None:
    assert [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| W |")] == lines()


if __name__ == "__main__":
    others = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if not line.startswith("| W |")]
    PAGE.write_text("\n".join([*others, *lines(), ""]), encoding="utf-8")
