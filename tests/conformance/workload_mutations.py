"""Mutations of correct workloads. A cluster refuses most of the results; the real programs decide which ones."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from tests.conformance import workload_mutations_code, workload_mutations_queue, workload_mutations_rules
from tests.conformance.workload_drafts import Draft, Mutation


def _merge(*path: str) -> Callable[[Draft, Any], object]:
    """Returns a change that adds keys to a map of the first pod template, or an item to a list of its pod."""

    def change(draft: Draft, value: Any) -> None:
        *owners, last = path
        owner = draft.template
        for step in owners:
            owner = owner.setdefault(step, {})
        if isinstance(owner.setdefault(last, [] if last == "tolerations" else {}), list):
            owner[last].append(value)
        else:
            owner[last].update(value)

    return change


def _require(draft: Draft, expression: Any) -> None:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    draft.pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _request(draft: Draft, amounts: Any) -> None:
    for name, amount in amounts.items():
        draft.resources(name, amount)


_CHANGES: dict[str, Callable[[Draft, Any], object]] = {
    "pod": lambda draft, value: draft.pod.update(value),
    "main": lambda draft, value: draft.main.update(value),
    "spec": lambda draft, value: draft.spec.update(value),
    "job": lambda draft, value: draft.update_job(**value),
    "document": lambda draft, value: draft.document.update(value),
    "security of pod": lambda draft, value: draft.setting("pod").update(value),
    "security of main": lambda draft, value: draft.setting("main").update(value),
    "volume": lambda draft, value: draft.add_volume(*value),
    "env": lambda draft, value: draft.add_env(**value),
    "resources": _request,
    "labels": _merge("metadata", "labels"),
    "annotations": _merge("metadata", "annotations"),
    "toleration": _merge("spec", "tolerations"),
    "node selector": _merge("spec", "nodeSelector"),
    "node affinity": _require,
    **workload_mutations_code.CHANGES,
    **workload_mutations_queue.CHANGES,
}


def _mutation(name: str, written: Any) -> Mutation:
    """Returns the mutation of an entry of the file."""
    if written == "by code":
        queue, rules = workload_mutations_queue.QUEUE, workload_mutations_rules.BY_CODE
        return {**workload_mutations_code.BY_CODE, **queue, **rules}[name]

    def mutate(draft: Draft) -> bool:
        changes = deepcopy(written)
        if draft.kind not in changes.pop("kinds", [draft.kind]) or ("job" in changes and draft.job is None):
            return False
        return all(_CHANGES[key](draft, value) is not False for key, value in changes.items())

    return mutate


MUTATIONS: dict[str, Mutation] = {
    name: _mutation(name, written)
    for name, written in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")).items()
}
"""The mutations by name."""
