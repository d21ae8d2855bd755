"""A rule reports every error of a spec at its line: the checks of objects find no other errors."""

import copy
import random
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.diagnostics.finding import Path, StageError
from gpuc.lint import checks
from gpuc.objects.object_set import emitted
from gpuc.pipeline.fleet_policies import FleetPolicies
from gpuc.pipeline.stages import compile_source
from tests.conftest import EXAMPLES
from tests.lanes import ci_share
from tests.pipeline.memory import source
from tests.values import value_at, walk

MUTATIONS = ci_share(range(120), 3)
OTHER_WORDS: dict[str, list[Any]] = {
    "isolation": ["namespace", "network", "dedicated"],
    "podSecurity": ["privileged", "baseline", "restricted"],
    "purpose": ["general", "training", "inference", "interactive"],
    "kubernetes": ["1.32", "1.33", "1.34", "1.36", "1.37"],
    "frameworks": [["jobset.x-k8s.io/jobset"], ["batch/job"], ["batch/job", "batch/job"], ["batch/job", "deployment"]],
    "counted": ["kueue", "quota"],
    "queues": [[], ["research"], ["search"]],
    "instances": [["p5.48xlarge"], ["g6.12xlarge"], ["m7i.8xlarge"], ["p4d.24xlarge"], ["g6.2xlarge", "g6.2xlarge"]],
    "borrow": ["all", 0, 1, 3],
    "lend": ["all", 0, 1, 3],
    "nodes": [{"max": 1}, {"static": 2}, {"max": 3}, 0, 1, 2],
    "cidr": ["10.0.0.0/8", "0.0.0.0/0", "10.64.0.0/16", "10.0.240.0/24"],
    "namespace": ["search-serving", "kube-system", "monitoring"],
}
"""Values of a key beside those that the examples have."""
SAME_CAUSE = {"QTA009": "KUE105"}
"""Object rules with the same cause as a spec rule: a cohort of one queue over GPU and general pools, which is two
ClusterQueues, shares nothing."""


def key_of(path: Path) -> str:
    return path[-1] if isinstance(path[-1], str) else f"item of {path[-2]}"


def donors() -> dict[str, list[Any]]:
    """The values that a key has anywhere in the examples."""
    found = {key: list(values) for key, values in OTHER_WORDS.items()}
    for name in EXAMPLES:
        for path, value in walk(source(name).tree):
            if len(path) > 1:
                found.setdefault(key_of(path), []).append(value)
    return found


def mutate(tree: dict[str, Any], values: dict[str, list[Any]], chance: random.Random) -> dict[str, Any]:
    """A copy with up to three values removed, changed in number, or taken from another place."""
    tree = copy.deepcopy(tree)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        path, value = chance.choice([(path, value) for path, value in walk(tree["spec"], ("spec",)) if len(path) > 1])
        parent = value_at(tree, path[:-1])
        if chance.random() < 0.15:
            del parent[path[-1]]
        elif isinstance(value, int) and not isinstance(value, bool):
            parent[path[-1]] = chance.choice((0, 1, value - 1, value + 1, value * 2, value // 2))
        else:
            parent[path[-1]] = copy.deepcopy(chance.choice(values[key_of(path)]))
    return tree


@pytest.mark.slow
def test_no_check_of_objects_finds_what_no_rule_says() -> None:
    chance, values, compiled = random.Random(12), donors(), 0
    for number in MUTATIONS:
        original = source(chance.choice(EXAMPLES))
        mutated = replace(original, tree=mutate(original.tree, values, chance), raw={})
        try:
            done = compile_source(mutated, FleetPolicies({}))
        except StageError:
            continue
        compiled += 1
        reported = {finding.id for finding in done.findings}
        more = [
            finding.to_finding()
            for finding in checks.findings(emitted(done.artifacts))
            if not {finding.rule.id, SAME_CAUSE.get(finding.rule.id)} & reported
        ]
        assert more == [], number
    assert compiled > len(MUTATIONS) // 4
