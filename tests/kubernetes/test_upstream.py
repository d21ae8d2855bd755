"""Selectors, tolerations and node pools have the same results as in the upstream code, also for malformed input.

upstream.json contains the results of the code of Kubernetes v0.35 and Karpenter v1.14.1; upstream.go explains how to
create the file.
"""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from gpuc.kubernetes.node_pool import meets, offer
from gpuc.kubernetes.selector import (
    LABEL_OPERATORS,
    NODE_OPERATORS,
    POOL_OPERATORS,
    Invalid,
    Requirement,
    matches,
    requirement,
)  # fmt: skip
from gpuc.kubernetes.toleration import Taint, Toleration

UPSTREAM: dict[str, str] = json.loads(Path(__file__).with_name("upstream.json").read_text(encoding="utf-8"))
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "in", "")
VALUES: tuple[tuple[str, ...], ...] = (
    (), ("x",), ("x", "y"), ("5",), ("-1",), ("x!",), ("",), ("9223372036854775808",),
)  # fmt: skip
NODES: tuple[dict[str, str], ...] = (
    {}, {"a": "x"}, {"a": "y"}, {"a": "5"}, {"a": "6"}, {"a": "-5"}, {"a": ""}, {"b": "x"},
)  # fmt: skip
OFFERED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("In", ("x",)), ("In", ("x", "y")), ("In", ("5", "6")), ("NotIn", ("x",)), ("Exists", ()), ("DoesNotExist", ()),
    ("Gt", ("4",)), ("Lt", ("6",)), ("Gte", ("6",)), ("Lte", ("5",)),
)  # fmt: skip
"""Requirements of node pools, and of pods."""


@pytest.mark.parametrize(("name", "known"), [("label selectors", LABEL_OPERATORS), ("node selectors", NODE_OPERATORS)])
def test_selectors(name: str, known: frozenset[str]) -> None:
    def answers() -> Iterator[str]:
        for key, operator, values in product(("a", "-bad"), OPERATORS, VALUES):
            try:
                wanted = requirement(key, operator, values, known)
            except Invalid:
                yield "E" * len(NODES)
            else:
                yield from ("01"[matches((wanted,), node)] for node in NODES)

    assert "".join(answers()) == UPSTREAM[name]


def test_tolerations() -> None:
    """A toleration needs a key or the operator Exists; otherwise the API server refuses the toleration."""
    effects = "NoSchedule", "NoExecute"
    tolerations = product(("", "k", "l"), ("", "Equal", "Exists", "Lt", "Gt", "exists"), ("", "v", "5"), ("", *effects))
    taints = [Taint("k", *rest) for rest in product(("", "v", "4"), (*effects, "PreferNoSchedule"))]
    cases = [(Toleration(*toleration), taint) for toleration in tolerations for taint in taints]
    for (toleration, taint), answer in zip(cases, UPSTREAM["tolerations"], strict=True):
        is_refused = not toleration.key and toleration.operator != "Exists"
        assert toleration.tolerates(taint) == (answer == "1" and not is_refused), (toleration, taint)


def test_node_pools() -> None:
    """A pod that requires that a well-known label is missing fits on no node, because all nodes have the label."""
    pools = [(), *((first, *rest) for first in OFFERED for rest in ((), *((other,) for other in OFFERED)))]
    keys = "example.com/a", "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
    cases = list(product(keys, pools, OFFERED))
    for (key, pool, wanted), answer in zip(cases, UPSTREAM["node pools"], strict=True):
        is_missing = not pool and wanted[0] == "DoesNotExist" and key != "example.com/a"
        own = offer(_requirement(key, rule) for rule in pool)
        assert meets(own, _requirement(key, wanted)) == (answer == "1" and not is_missing), (key, pool, wanted)


def _requirement(key: str, rule: tuple[str, tuple[str, ...]]) -> Requirement:
    return requirement(key, rule[0], rule[1], POOL_OPERATORS)
