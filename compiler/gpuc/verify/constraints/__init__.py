"""Gatekeeper's constraints as a set: whom they judge, whom they miss, and names that their parameters misspell."""

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
    "PLC001", Severity.ERROR, "A constraint that denies selects no namespaces, so it judges those of the platform too.",
    "The next pod of kube-system or of the operators that it does not like is refused, and with it a node's agents.",
    "https://open-policy-agent.github.io/gatekeeper/website/docs/howto/#the-match-field",
)  # fmt: skip
NO_KINDS = declare_rule(
    "PLC002", Severity.ERROR, "A constraint names no kinds.",
    "It is asked about every object of the cluster, and its policy reads fields that most of them do not have.",
)  # fmt: skip
LEFT_OUT = declare_rule(
    "PLC003", Severity.ERROR, "A namespace is judged by none of the constraints that hold for its neighbours.",
    "A policy that every other tenant has does not exist for this one, and nothing says so.",
)  # fmt: skip
ODD_KINDS = declare_rule(
    "PLC004", Severity.ERROR, "Constraints of one policy judge different kinds.",
    "The same work is refused for one tenant and taken for another.",
)  # fmt: skip
UNKNOWN_NAME = declare_rule(
    "PLC005", Severity.ERROR, "A parameter of a constraint nearly names an object of the tree.",
    "The policy compares text: what is misspelled is refused, or never found.",
)  # fmt: skip
NEVER_APPLIED = declare_rule(
    "PLC006", Severity.ERROR, "A ConstraintTemplate has no constraint.",
    "A template alone refuses nothing: the policy looks installed and does not hold.",
)  # fmt: skip
NOT_EXPANDED = declare_rule(
    "PLC007", Severity.WARNING, "Pods that a kind of workload makes are not expanded, as those of others are.",
    "Its author is told nothing: the workload is taken, its pods are refused, and only its controller knows.",
    "https://open-policy-agent.github.io/gatekeeper/website/docs/expansion/",
)  # fmt: skip
NO_EXCLUSION = declare_rule(
    "PLC008", Severity.ERROR, "Gatekeeper has constraints that deny, and no Config keeps it from the platform.",
    "One constraint that selects too much then stops nodes, operators and Gatekeeper itself.",
)  # fmt: skip

TELLS_ALL = declare_rule(
    "PLC014", Severity.WARNING, "A constraint that warns or reports selects no namespaces, as those beside it do.",
    "Who works in another namespace is warned of a policy that is not theirs, and audits fill with what nobody mends.",
    "https://open-policy-agent.github.io/gatekeeper/website/docs/violations/",
)  # fmt: skip
_CHOOSING = ("namespaceSelector", "namespaces", "excludedNamespaces", "labelSelector", "name")
_REFUSING = ("*", "validation.gatekeeper.sh", "vap.k8s.io")
"""Enforcement points that refuse objects; audit and gator only tell."""
_LEAST = 2
"""More than so many others have to select namespaces before one that does not is odd."""


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """What is wrong with the constraints of a tree, template by template."""
    by_kind: dict[str, list[Manifest]] = {}
    for manifest in tree.manifests:
        if manifest.api.startswith(f"{GATEKEEPER}/"):
            by_kind.setdefault(manifest.kind, []).append(manifest)
    for constraints in by_kind.values():
        for constraint in constraints:
            yield from _alone(constraint)
        yield from _together(tree, constraints)
    yield from _names(tree, [each for constraints in by_kind.values() for each in constraints])
    if tree.is_complete:
        yield from _open(list(by_kind.values()))
        yield from _unused(tree, set(by_kind))
        yield from _unexpanded(tree)
        yield from _unprotected(tree, [each for constraints in by_kind.values() for each in constraints])


def _alone(constraint: Manifest) -> Iterator[ObjectFinding]:
    match = dig(constraint.body, "spec", "match")
    entries = list(items(dig(match, "kinds")))
    if not entries:
        yield ObjectFinding(NO_KINDS, constraint, ("spec", "match"), "no kinds are named: every object is judged")
    for index, entry in entries:
        if not dig(entry, "kinds"):
            text = "no kinds are named: every kind of these API groups is judged"
            yield ObjectFinding(NO_KINDS, constraint, ("spec", "match", "kinds", index), text)
    if _denies(constraint) and not _chooses(constraint):
        text = "it denies in every namespace, those of the platform included: select namespaces, or exclude some"
        yield ObjectFinding(CATCHES_ALL, constraint, ("spec", "match", "namespaceSelector"), text)


def _denies(constraint: Manifest) -> bool:
    """Source: gatekeeper v3.23 pkg/util/enforcement_action.go: "scoped" says it per enforcement point."""
    action = dig(constraint.body, "spec", "enforcementAction")
    if action != "scoped":
        return action in DENYING
    scoped = dig(constraint.body, "spec", "scopedEnforcementActions")
    return any(
        dig(each, "action") == "deny" and dig(point, "name") in _REFUSING
        for _, each in items(scoped)
        for _, point in items(dig(each, "enforcementPoints"))
    )


def _chooses(constraint: Manifest) -> bool:
    """Whether it judges some objects only."""
    match = dig(constraint.body, "spec", "match")
    return any(_says_something(dig(match, each)) for each in _CHOOSING)


def _open(by_kind: list[list[Manifest]]) -> Iterator[ObjectFinding]:
    """Constraints that only tell, of every namespace, where all others select theirs."""
    choosing = sum(_chooses(each) for constraints in by_kind for each in constraints)
    for constraints in by_kind:
        for constraint in constraints:
            is_alone = not any(_chooses(each) for each in constraints)  # the others are told of beside their neighbours
            if choosing > _LEAST and is_alone and not _denies(constraint):
                action = dig(constraint.body, "spec", "enforcementAction")
                text = f"{action} holds for every namespace; {choosing} other constraints select theirs"
                yield ObjectFinding(TELLS_ALL, constraint, ("spec", "match", "namespaceSelector"), text)


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_says_something(each) for each in value.values())
    return bool(value)


def _together(tree: ObjectSet, constraints: list[Manifest]) -> Iterator[ObjectFinding]:
    """Constraints of one kind: the same kinds for all, and no namespace left out of a label that they divide."""
    if len(constraints) > 1:
        yield from _odd_kinds(constraints)
    selected: dict[str, dict[str, Manifest]] = {}
    everywhere = []
    for constraint in constraints:
        selector = dig(constraint.body, "spec", "match", "namespaceSelector")
        labels = dig(selector, "matchLabels")
        if isinstance(labels, dict) and len(labels) == 1:
            ((key, value),) = labels.items()
            selected.setdefault(key, {})[str(value)] = constraint
        elif _says_something(selector):
            return
        else:
            everywhere.append(constraint)
    for constraint in everywhere if selected else ():
        text = "it judges every namespace by what it is told of one: others of its kind select theirs"
        found = CATCHES_ALL if _denies(constraint) else TELLS_ALL
        yield ObjectFinding(found, constraint, ("spec", "match", "namespaceSelector"), text)
    for key, values in selected.items():
        yield from _left_out(tree, key, values)


def _left_out(tree: ObjectSet, key: str, values: dict[str, Manifest]) -> Iterator[ObjectFinding]:
    """Values of a label that constraints of one kind select and no namespace has, and the other way round."""
    there = {str(labels[key]): name for name, labels in tree.namespaces.items() if key in labels}
    for value, constraint in values.items():
        if there and value not in there:
            near = misspelt(str(value), map(str, there))
            hint = f', did you mean "{near}"' if near else f"; there are {', '.join(sorted(map(str, there)))}"
            path = ("spec", "match", "namespaceSelector", "matchLabels", key)
            yield ObjectFinding(LEFT_OUT, constraint, path, f'no namespace has "{key}: {value}"{hint}', near)
    kind = next(iter(values.values())).kind
    for value, name in sorted(there.items(), key=str):
        namespace = tree.find("", "Namespace", name)
        if value not in values and namespace is not None:
            text = f'no {kind} selects "{key}: {value}", as others are selected'
            yield ObjectFinding(LEFT_OUT, namespace, ("metadata", "labels", key), text)


def _odd_kinds(constraints: list[Manifest]) -> Iterator[ObjectFinding]:
    kinds = {id(each): _kinds(each) for each in constraints}
    every = set().union(*kinds.values())
    for constraint in constraints:
        if lacking := sorted(every - kinds[id(constraint)]):
            text = f"{', '.join(lacking)} are not judged here, as in the other constraints of the kind"
            yield ObjectFinding(ODD_KINDS, constraint, ("spec", "match", "kinds"), text)


def _kinds(constraint: Manifest) -> set[str]:
    entries = items(dig(constraint.body, "spec", "match", "kinds"))
    return {str(kind) for _, entry in entries for _, kind in items(dig(entry, "kinds"))}


def _names(tree: ObjectSet, constraints: list[Manifest]) -> Iterator[ObjectFinding]:
    """Parameters that name queues or node pools: a text that is almost one of them, and is none."""
    queues = {each.name for each in tree.of("kueue.x-k8s.io", "LocalQueue")}
    pools = {each.name for each in tree.of("karpenter.sh", "NodePool")}
    for constraint in constraints:
        for path, value in _texts(dig(constraint.body, "spec", "parameters"), ("spec", "parameters")):
            words = " ".join(step for step in path if isinstance(step, str)).lower()
            known = queues if "queue" in words else pools if "pool" in words else set()
            if value and known and value not in known:
                near = misspelt(str(value), map(str, known))
                hint = f'did you mean "{near}"' if near else f"there are {', '.join(sorted(known))}"
                yield ObjectFinding(UNKNOWN_NAME, constraint, path, f'"{value}" is none of the tree\'s; {hint}', near)


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str) and path[-1] != "resource":
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, (*path, str(key)))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _texts(each, (*path, index))


def _unused(tree: ObjectSet, kinds: set[str]) -> Iterator[ObjectFinding]:
    for template in tree.of(TEMPLATES, "ConstraintTemplate"):
        kind = dig(template.body, "spec", "crd", "spec", "names", "kind")
        if isinstance(kind, str) and kind not in kinds:
            yield ObjectFinding(
                NEVER_APPLIED, template, ("spec", "crd", "spec", "names", "kind"), f"nobody applies a {kind}"
            )


def _unexpanded(tree: ObjectSet) -> Iterator[ObjectFinding]:
    found = tree.of(EXPANSION, "ExpansionTemplate")
    kinds = {
        str(kind)
        for template in found
        for _, entry in items(dig(template.body, "spec", "applyTo"))
        for _, kind in items(dig(entry, "kinds"))
    }
    if found and (lacking := [kind for kind in SAMPLE_KINDS if kind not in kinds]):
        yield ObjectFinding(NOT_EXPANDED, found[0], ("spec", "applyTo"), f"no template expands {', '.join(lacking)}")


def _unprotected(tree: ObjectSet, constraints: list[Manifest]) -> Iterator[ObjectFinding]:
    denying = [each for each in constraints if _denies(each)]
    excluding = any(
        entry.get("excludedNamespaces")
        for config in tree.of("config.gatekeeper.sh", "Config")
        for _, entry in items(dig(config.body, "spec", "match"))
        if isinstance(entry, dict)
    )
    if denying and not excluding:
        yield ObjectFinding(NO_EXCLUSION, denying[0], ("spec", "enforcementAction"), "no Config excludes a namespace")
