"""Rules between the pods of a workload: spread, affinity and anti-affinity over node labels, and slices of topologies.

A rule is not a mistake by itself: whether the pods can run depends on their number, on the nodes and on the rule.
"""

from collections.abc import Callable
from typing import Any

from gpuc.admission.validation.kueue import SLICE_SIZE, SLICE_TOPOLOGY
from gpuc.kubernetes.kueue import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from gpuc.kubernetes.node_pool import CAPACITY_TYPE, HOSTNAME, ZONE
from gpuc.model.names import POOL_LABEL
from tests.conformance.workload_drafts import Draft, Mutation
from tests.conformance.workload_mutations_code import set_pods

PREFIX = "rules: "
MAX_PODS = 6
_KEY = "example.com/rules"
"""The label of the pods that a rule selects, with the name of the workload."""
_KEYS = {"hosts": HOSTNAME, "zones": ZONE, "capacity types": CAPACITY_TYPE, "node pools": POOL_LABEL}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _several_pods(draft: Draft, *, at_least: int = 1) -> bool:
    """Gives a draft some pods with a label for the rules; returns whether the kind can have several pods."""
    if draft.kind in ("Pod", "JobSet"):
        return False
    set_pods(draft, draft.random.randint(at_least, MAX_PODS))
    draft.describe("labels", _KEY, draft.document["metadata"]["name"])
    return True


def _selector(draft: Draft) -> dict[str, Any]:
    return {"matchLabels": {_KEY: draft.document["metadata"]["name"]}}


def _spread(draft: Draft, key: str) -> None:
    random = draft.random
    row: dict[str, Any] = {
        "maxSkew": random.choice((1, 1, 2)), "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": _selector(draft),
    }  # fmt: skip
    if random.random() < 0.5:
        row["minDomains"] = random.randint(1, 4)
    if random.random() < 0.3:
        row["nodeTaintsPolicy"] = random.choice(("Honor", "Ignore"))
    draft.pod["topologySpreadConstraints"] = [*draft.pod.get("topologySpreadConstraints", ()), row]


def _affinity(draft: Draft, field: str, key: str) -> None:
    term = {"labelSelector": _selector(draft), "topologyKey": key}
    draft.pod.setdefault("affinity", {})[field] = {_REQUIRED: [term]}


_RULES: dict[str, Callable[[Draft, str], None]] = {
    "spread": _spread,
    "affinity": lambda draft, key: _affinity(draft, "podAffinity", key),
    "anti-affinity": lambda draft, key: _affinity(draft, "podAntiAffinity", key),
}


def _rule(name: str, key: str) -> Mutation:
    def mutate(draft: Draft) -> bool:
        if not _several_pods(draft, at_least=2):
            return False
        _RULES[name](draft, key)
        return True

    return mutate


def _two_rules(draft: Draft) -> bool:
    if not _several_pods(draft):
        return False
    for name in draft.random.sample(sorted(_RULES), 2):
        _RULES[name](draft, draft.random.choice((HOSTNAME, HOSTNAME, ZONE)))
    return True


def _slices(draft: Draft) -> bool:
    """Adds slices of a topology, which need not divide the number of pods, to pods of a queue with a topology."""
    random, levels = draft.random, list(draft.target.pool.level_labels.values())
    if not draft.target.queue or not levels or not _several_pods(draft):
        return False
    for key in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY):
        draft.template["metadata"].get("annotations", {}).pop(key, None)
    if random.random() < 0.6:
        draft.describe("annotations", random.choice((REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY)), random.choice(levels))
    draft.describe("annotations", SLICE_TOPOLOGY, random.choice(levels))
    draft.describe("annotations", SLICE_SIZE, str(random.randint(1, 3)))
    return True


BY_CODE: dict[str, Mutation] = {
    **{f"{PREFIX}{name} over {place}": _rule(name, key) for name in _RULES for place, key in _KEYS.items()},
    f"{PREFIX}two of them": _two_rules,
    f"{PREFIX}slices of a topology": _slices,
}
"""Mutations by name."""
