"""Checks Gatekeeper's constraints together: the namespaces and kinds they select, and the names in their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items

GATEKEEPER = "constraints.gatekeeper.sh"
TEMPLATES = "templates.gatekeeper.sh"
EXPANSION = "expansion.gatekeeper.sh"
DENYING = (None, "deny")
SAMPLE_KINDS = ("Deployment", "StatefulSet", "Job", "CronJob")

CATCHES_ALL = declare_rule(
    "PLC001", Severity.ERROR, "A denying constraint selects no namespaces and applies to those of the platform too.",
    "Gatekeeper may refuse pods of kube-system and of the operators, such as the agents of a node.",
    "https://open-policy-agent.github.io/gatekeeper/website/docs/howto/#the-match-field",
)  # fmt: skip
NO_KINDS = declare_rule(
    "PLC002", Severity.ERROR, "A constraint selects no kinds.",
    "The constraint applies to every object of the cluster, and most objects lack the fields that the policy reads.",
)  # fmt: skip
LEFT_OUT = declare_rule(
    "PLC003", Severity.ERROR, "No constraint of a policy selects a namespace that is similar to selected ones.",
    "The policy is not enforced for this tenant, and no error or event shows it.",
)  # fmt: skip
ODD_KINDS = declare_rule(
    "PLC004", Severity.ERROR, "Constraints of one policy select different kinds.",
    "The same workload is refused for one tenant and admitted for another.",
)  # fmt: skip
UNKNOWN_NAME = declare_rule(
    "PLC005", Severity.ERROR, "A parameter of a constraint names a queue or node pool that does not exist.",
    "The policy compares names. With a misspelled name it refuses valid workloads, or admits invalid ones.",
)  # fmt: skip
NEVER_APPLIED = declare_rule(
    "PLC006", Severity.ERROR, "A ConstraintTemplate has no constraint.",
    "A template without a constraint refuses nothing: the policy looks installed and is not enforced.",
)  # fmt: skip
NOT_EXPANDED = declare_rule(
    "PLC007", Severity.WARNING, "No ExpansionTemplate covers a kind of workload, although templates cover other kinds.",
    "Gatekeeper admits the workload and refuses its pods. The author of the workload gets no error.",
    "https://open-policy-agent.github.io/gatekeeper/website/docs/expansion/",
)  # fmt: skip
NO_EXCLUSION = declare_rule(
    "PLC008", Severity.ERROR, "Gatekeeper has denying constraints, and no Config excludes any namespace.",
    "A constraint that selects too much can stop nodes, operators and Gatekeeper itself.",
)  # fmt: skip

WARNS_EVERYWHERE = declare_rule(
    "PLC014", Severity.WARNING, "A constraint that warns or audits selects no namespaces, although others do.",
    "Users of other namespaces get warnings about a policy that does not apply to them, and audits report violations "
    "that need no fix.",
    "https://open-policy-agent.github.io/gatekeeper/website/docs/violations/",
)  # fmt: skip
_SELECTORS = ("namespaceSelector", "namespaces", "excludedNamespaces", "labelSelector", "name")
_DENYING_POINTS = ("*", "validation.gatekeeper.sh", "vap.k8s.io")
"""Enforcement points that refuse objects; audit and gator only report."""
_SELECTING_MIN = 3
"""A constraint without a selector is reported if at least this many other constraints have one."""


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about constraints, grouped by the kind of constraint."""
    by_kind: dict[str, list[Manifest]] = {}
    for manifest in tree.manifests:
        if manifest.api.startswith(f"{GATEKEEPER}/"):
            by_kind.setdefault(manifest.kind, []).append(manifest)
    for constraints in by_kind.values():
        for constraint in constraints:
            yield from _single_constraint(constraint)
        yield from _same_kind(tree, constraints)
    all_constraints = [constraint for constraints in by_kind.values() for constraint in constraints]
    yield from _parameter_names(tree, all_constraints)
    if tree.is_complete:
        yield from _warns_everywhere(list(by_kind.values()))
        yield from _unused_templates(tree, set(by_kind))
        yield from _unexpanded_kinds(tree)
        yield from _without_exclusion(tree, all_constraints)


def _single_constraint(constraint: Manifest) -> Iterator[ObjectFinding]:
    match = dig(constraint.body, "spec", "match")
    entries = list(items(dig(match, "kinds")))
    if not entries:
        yield ObjectFinding(
            NO_KINDS, constraint, ("spec", "match"), "no kinds are selected: the constraint applies to every object"
        )
    for index, entry in entries:
        if not dig(entry, "kinds"):
            text = "no kinds are selected: the constraint applies to every kind of these API groups"
            yield ObjectFinding(NO_KINDS, constraint, ("spec", "match", "kinds", index), text)
    if _denies(constraint) and not _selects(constraint):
        text = "denies in every namespace, including those of the platform: select namespaces, or exclude some"
        yield ObjectFinding(CATCHES_ALL, constraint, ("spec", "match", "namespaceSelector"), text)


def _denies(constraint: Manifest) -> bool:
    """Returns whether a constraint refuses objects. The action "scoped" has actions per enforcement point.

    Source: gatekeeper v3.23 pkg/util/enforcement_action.go
    """
    action = dig(constraint.body, "spec", "enforcementAction")
    if action != "scoped":
        return action in DENYING
    scoped = dig(constraint.body, "spec", "scopedEnforcementActions")
    return any(
        dig(action, "action") == "deny" and dig(point, "name") in _DENYING_POINTS
        for _, action in items(scoped)
        for _, point in items(dig(action, "enforcementPoints"))
    )


def _selects(constraint: Manifest) -> bool:
    """Returns whether a constraint applies to some namespaces or objects only."""
    match = dig(constraint.body, "spec", "match")
    return any(_is_set(dig(match, selector)) for selector in _SELECTORS)


def _warns_everywhere(by_kind: list[list[Manifest]]) -> Iterator[ObjectFinding]:
    """Yields constraints that warn or audit in every namespace, although the constraints of other kinds select namespaces."""
    selecting = sum(_selects(constraint) for constraints in by_kind for constraint in constraints)
    for constraints in by_kind:
        if selecting < _SELECTING_MIN or any(_selects(constraint) for constraint in constraints):
            continue  # _same_kind compares the constraints of one kind
        for constraint in constraints:
            if not _denies(constraint):
                action = dig(constraint.body, "spec", "enforcementAction")
                text = f"{action} applies to every namespace; {selecting} other constraints select namespaces"
                yield ObjectFinding(WARNS_EVERYWHERE, constraint, ("spec", "match", "namespaceSelector"), text)


def _is_set(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_is_set(child) for child in value.values())
    return bool(value)


def _same_kind(tree: ObjectSet, constraints: list[Manifest]) -> Iterator[ObjectFinding]:
    """Compares the constraints of one kind: they select the same kinds, and together all values of a label."""
    if len(constraints) > 1:
        yield from _different_kinds(constraints)
    selected: dict[str, dict[str, Manifest]] = {}
    everywhere = []
    for constraint in constraints:
        selector = dig(constraint.body, "spec", "match", "namespaceSelector")
        labels = dig(selector, "matchLabels")
        if isinstance(labels, dict) and len(labels) == 1:
            ((key, value),) = labels.items()
            selected.setdefault(key, {})[str(value)] = constraint
        elif _is_set(selector):
            return
        else:
            everywhere.append(constraint)
    for constraint in everywhere if selected else ():
        text = "applies to every namespace; other constraints of this kind select namespaces"
        rule = CATCHES_ALL if _denies(constraint) else WARNS_EVERYWHERE
        yield ObjectFinding(rule, constraint, ("spec", "match", "namespaceSelector"), text)
    for key, values in selected.items():
        yield from _unselected_namespaces(tree, key, values)


def _unselected_namespaces(tree: ObjectSet, key: str, values: dict[str, Manifest]) -> Iterator[ObjectFinding]:
    """Yields values of a label that no namespace has, and namespaces whose value no constraint of one kind selects."""
    actual = {str(labels[key]): name for name, labels in tree.namespaces.items() if key in labels}
    for value, constraint in values.items():
        if actual and value not in actual:
            suggestion = misspelt(str(value), map(str, actual))
            known = ", ".join(sorted(map(str, actual)))
            hint = f', did you mean "{suggestion}"' if suggestion else f"; known values: {known}"
            path = ("spec", "match", "namespaceSelector", "matchLabels", key)
            yield ObjectFinding(LEFT_OUT, constraint, path, f'no namespace has "{key}: {value}"{hint}', suggestion)
    kind = next(iter(values.values())).kind
    for value, name in sorted(actual.items(), key=str):
        namespace = tree.find("", "Namespace", name)
        if value not in values and namespace is not None:
            text = f'no {kind} selects "{key}: {value}", although other values are selected'
            yield ObjectFinding(LEFT_OUT, namespace, ("metadata", "labels", key), text)


def _different_kinds(constraints: list[Manifest]) -> Iterator[ObjectFinding]:
    kinds = {id(constraint): _kinds(constraint) for constraint in constraints}
    all_kinds = set().union(*kinds.values())
    for constraint in constraints:
        if missing := sorted(all_kinds - kinds[id(constraint)]):
            text = f"{', '.join(missing)} missing; other constraints of this kind select them"
            yield ObjectFinding(ODD_KINDS, constraint, ("spec", "match", "kinds"), text)


def _kinds(constraint: Manifest) -> set[str]:
    entries = items(dig(constraint.body, "spec", "match", "kinds"))
    return {str(kind) for _, entry in entries for _, kind in items(dig(entry, "kinds"))}


def _parameter_names(tree: ObjectSet, constraints: list[Manifest]) -> Iterator[ObjectFinding]:
    """Yields parameters that name a queue or node pool that does not exist."""
    queues = {queue.name for queue in tree.of("kueue.x-k8s.io", "LocalQueue")}
    pools = {pool.name for pool in tree.of("karpenter.sh", "NodePool")}
    for constraint in constraints:
        for path, value in _texts(dig(constraint.body, "spec", "parameters"), ("spec", "parameters")):
            keys = " ".join(step for step in path if isinstance(step, str)).lower()
            kind, known = ("queue", queues) if "queue" in keys else ("node pool", pools if "pool" in keys else set())
            if value and known and value not in known:
                suggestion = misspelt(str(value), map(str, known))
                hint = f', did you mean "{suggestion}"' if suggestion else f"; known: {', '.join(sorted(known))}"
                text = f'no {kind} has the name "{value}"{hint}'
                yield ObjectFinding(UNKNOWN_NAME, constraint, path, text, suggestion)


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str) and path[-1] != "resource":
        yield path, value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _texts(child, (*path, str(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))


def _unused_templates(tree: ObjectSet, kinds: set[str]) -> Iterator[ObjectFinding]:
    for template in tree.of(TEMPLATES, "ConstraintTemplate"):
        kind = dig(template.body, "spec", "crd", "spec", "names", "kind")
        if isinstance(kind, str) and kind not in kinds:
            path = ("spec", "crd", "spec", "names", "kind")
            yield ObjectFinding(NEVER_APPLIED, template, path, f"there is no constraint of kind {kind}")


def _unexpanded_kinds(tree: ObjectSet) -> Iterator[ObjectFinding]:
    found = tree.of(EXPANSION, "ExpansionTemplate")
    kinds = {
        str(kind)
        for template in found
        for _, entry in items(dig(template.body, "spec", "applyTo"))
        for _, kind in items(dig(entry, "kinds"))
    }
    if found and (missing := [kind for kind in SAMPLE_KINDS if kind not in kinds]):
        yield ObjectFinding(NOT_EXPANDED, found[0], ("spec", "applyTo"), f"no template expands {', '.join(missing)}")


def _without_exclusion(tree: ObjectSet, constraints: list[Manifest]) -> Iterator[ObjectFinding]:
    denying = [constraint for constraint in constraints if _denies(constraint)]
    excluding = any(
        entry.get("excludedNamespaces")
        for config in tree.of("config.gatekeeper.sh", "Config")
        for _, entry in items(dig(config.body, "spec", "match"))
        if isinstance(entry, dict)
    )
    if denying and not excluding:
        yield ObjectFinding(NO_EXCLUSION, denying[0], ("spec", "enforcementAction"), "no Config excludes a namespace")
