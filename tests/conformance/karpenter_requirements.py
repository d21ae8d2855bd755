"""Compares the nodes that no longer meet changed requirements with the functions that Karpenter calls for drift.

For each NodePool of the example clusters, the nodes are all combinations of the values of its requirements. The edits
are: each value removed, replaced and added, each list in another order, each requirement removed or with another
operator, and a requirement of a new label with each operator.
"""

import json
import subprocess
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.plan.change import Change
from gpuc.plan.state import State
from gpuc.substrates.eks.drift import Scope, drifts
from tests.conformance.check_result import CheckResult

Requirements = list[dict[str, Any]]
Labels = dict[str, str]
OTHER_OPERATORS = ("NotIn", "Exists", "DoesNotExist")
KEPT, DRIFTED = "kept", "drifted"


def nodes(pool: Manifest) -> list[Labels]:
    """Returns the labels of the nodes that a NodePool can have."""
    template = pool.body["spec"]["template"]
    requirements: Requirements = template["spec"]["requirements"]
    keys = [requirement["key"] for requirement in requirements]
    values = product(*(requirement["values"] for requirement in requirements))
    return [template["metadata"]["labels"] | dict(zip(keys, combination, strict=True)) for combination in values]


def edits(requirements: Requirements) -> Iterator[tuple[str, Requirements]]:
    """Yields descriptions and edited requirements."""
    for index, requirement in enumerate(requirements):
        key, values = requirement["key"], requirement["values"]
        yield f"without {key}", requirements[:index] + requirements[index + 1 :]
        for text, changed in _changed_values(values):
            yield f"{key} {text}", _with(requirements, index, requirement | {"values": changed})
        for operator in OTHER_OPERATORS:
            other = {"key": key, "operator": operator} | ({"values": values} if operator == "NotIn" else {})
            yield f"{key} {operator}", _with(requirements, index, other)
        yield f"{key} with minValues", _with(requirements, index, requirement | {"minValues": 1})
    yield "in another order", requirements[::-1]
    for operator in ("In", *OTHER_OPERATORS):
        new = {"key": "example.com/rack", "operator": operator} | ({"values": ["r1"]} if operator[-2:] == "In" else {})
        yield f"a new label {operator}", [*requirements, new]


def checks(program: Path, pools: Sequence[Manifest]) -> Iterator[CheckResult]:
    """Yields one result for the edits of all NodePools."""
    problems, count = [], 0
    for pool in pools:
        found = list(edits(pool.body["spec"]["template"]["spec"]["requirements"]))
        labels = nodes(pool)
        states = iter(_states(program, labels, [requirements for _, requirements in found]))
        for name, requirements in found:
            drifted = [next(states) == DRIFTED for _ in labels]
            scope = _scope(pool, requirements)
            count += 1
            expected = Scope.ALL if all(drifted) else Scope.SOME if any(drifted) else None
            if scope is not expected:
                problems.append(f"{pool} {name}: gpuc answers {scope}, Karpenter {expected}")
    name = "gpuc plan and Karpenter agree on the nodes that no longer meet the requirements of a NodePool"
    yield CheckResult(name, "\n".join(problems), f"{count} edits of requirements")


def _changed_values(values: list[str]) -> Iterator[tuple[str, list[str]]]:
    for index, value in enumerate(values):
        if len(values) > 1:
            yield f"without {value}", values[:index] + values[index + 1 :]
        yield f"{value} replaced", [*values[:index], f"{value}-2", *values[index + 1 :]]
    yield "with one more value", [*values, "other"]
    yield "in another order", values[::-1]


def _with(requirements: Requirements, index: int, requirement: dict[str, Any]) -> Requirements:
    return [*requirements[:index], requirement, *requirements[index + 1 :]]


def _scope(pool: Manifest, requirements: Requirements) -> Scope | None:
    """Returns the scope that gpuc computes for the change of a NodePool."""
    body: Body = deepcopy(pool.body)
    body["spec"]["template"]["spec"]["requirements"] = requirements
    before, after = (
        State("example", ObjectSet([manifest], is_complete=True)) for manifest in (pool, replace(pool, body=body))
    )
    return next((scope for scope in Scope if drifts(Change(before, after), scope)), None)


def _states(program: Path, labels: Sequence[Labels], requirements: Sequence[Requirements]) -> list[str]:
    """Returns whether Karpenter keeps each node, for each list of requirements."""
    claims = [
        {"kind": "NodeClaim", "metadata": {"labels": node_labels}, "spec": {"requirements": required}}
        for required in requirements
        for node_labels in labels
    ]
    text = "\n".join(map(json.dumps, claims))
    done = subprocess.run([program], input=text, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()
