import re
from functools import cache
from typing import Any

from gpuc.catalog.schemas import builtin_kinds, builtin_versions
from gpuc.cluster.pools import Pools
from gpuc.diagnostics.contract import Needs
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import alternatives, missing, misspelt, write
from gpuc.kubernetes.api_groups import CONSTRAINTS, TEMPLATES
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, grouped, items
from gpuc.objects.paths import texts
from gpuc.parts.workload_kinds import workload_kinds
from gpuc.verify.references.names import UNKNOWN_IN_PARAMETER, reference_paths

EXPANSION = "expansion.gatekeeper.sh"
DENYING = (None, "deny")
"""Values of enforcementAction that refuse objects. None is a missing action, for which Gatekeeper denies."""
DENIES_EVERYWHERE = rule_of("PLC001")
NO_KINDS = rule_of("PLC002")
NOT_SELECTED = rule_of("PLC003")
DIFFERENT_KINDS = rule_of("PLC004")
WITHOUT_CONSTRAINT = rule_of("PLC006")
NOT_EXPANDED = rule_of("PLC007")
NOTHING_EXCLUDED = rule_of("PLC008")
NO_OBJECT = rule_of("PLC015")
WARNS_EVERYWHERE = rule_of("PLC014")
WRONG_PATH = rule_of("PLC009")
_NAME = r"""(?:[A-Za-z_-][\w-]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_STEP = rf"{_NAME}\s*(?:\[\s*{_NAME}\s*:\s*(?:\*|\d+|{_NAME})\s*\]\s*)?"
_PATH = re.compile(rf"\s*(?:{_STEP}(?:\.\s*{_STEP})*)?", re.ASCII | re.DOTALL)
_REFUSED = {"Assign": r"\s*metadata\s*(?:\.|$)", "AssignMetadata": r"(?!\s*metadata\s*\.\s*(?:labels|annotations)\b)"}
"""The paths of mutators. Source: gatekeeper v3.23.0 pkg/mutation/path/token/scanner.go, path/parser/parser.go"""
_SELECTORS = ("namespaceSelector", "namespaces", "excludedNamespaces", "labelSelector", "name")
_DENYING_POINTS = ("*", "validation.gatekeeper.sh", "vap.k8s.io")
"""Enforcement points that refuse objects. The other enforcement points, audit and gator, only report violations."""
OTHER_NAMES = ("namespace", "resource", "resources")
"""Keys whose values are not names of queues or pools, although the keys may be below a list of queues or pools."""
_CLUSTER_SCOPED = frozenset(
    ("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "IngressClass", "Namespace", "Node",
     "PersistentVolume", "PriorityClass", "StorageClass")
)  # fmt: skip
"""Kinds that are in no namespace."""
_SELECTING_MIN = 3
"""The number of constraints with a selector from which a constraint without a selector is a finding."""


@check(
    DENIES_EVERYWHERE, NO_KINDS, NOT_SELECTED, DIFFERENT_KINDS, UNKNOWN_IN_PARAMETER, WITHOUT_CONSTRAINT,
    NOT_EXPANDED, NOTHING_EXCLUDED, NO_OBJECT, WARNS_EVERYWHERE, needs=Needs.CLUSTER,
    kinds=("Namespace", f"{CONSTRAINTS}/*", f"{TEMPLATES}/*", f"{EXPANSION}/*", "config.gatekeeper.sh/*",
           "kueue.x-k8s.io/LocalQueue", "karpenter.sh/*", "karpenter.k8s.aws/*", "nfd.k8s-sigs.io/NodeFeatureRule"),
)  # fmt: skip
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about constraints, ExpansionTemplates and the Config of Gatekeeper."""
    found = (manifest for manifest in objects.manifests if manifest.api.startswith(f"{CONSTRAINTS}/"))
    by_kind = grouped(found, lambda constraint: constraint.kind)
    for constraints in by_kind.values():
        for constraint in constraints:
            yield from _single_constraint(objects, constraint)
        yield from _compared(objects, constraints)
    all_constraints = [constraint for constraints in by_kind.values() for constraint in constraints]
    yield from _parameter_names(objects, all_constraints)
    if objects.is_complete:
        yield from _warns_everywhere(list(by_kind.values()))
        yield from _unused_templates(objects, set(by_kind))
        yield from _unexpanded_kinds(objects)
        denying = [constraint for constraint in all_constraints if _denies(constraint)]
        if denying and not _has_exclusion(objects):
            text = "no Config of Gatekeeper excludes a namespace"
            yield ObjectFinding(NOTHING_EXCLUDED, denying[0], ("spec", "enforcementAction"), text)


def _single_constraint(objects: ObjectSet, constraint: Manifest) -> Findings:
    match = dig(constraint.body, "spec", "match")
    entries = list(items(dig(match, "kinds")))
    if not entries:
        text = "no kinds are selected: the constraint applies to every object"
        yield ObjectFinding(NO_KINDS, constraint, ("spec", "match"), text)
    for index, entry in entries:
        if not dig(entry, "kinds"):
            text = "no kinds are selected: the constraint applies to every kind of these API groups"
            yield ObjectFinding(NO_KINDS, constraint, ("spec", "match", "kinds", index), text)
        elif text := _nothing_matched(entry):
            yield ObjectFinding(NO_OBJECT, constraint, ("spec", "match", "kinds", index), text)
    if _denies_everywhere(objects, constraint):
        text = "the constraint denies objects in every namespace, also of the platform: select or exclude namespaces"
        yield ObjectFinding(DENIES_EVERYWHERE, constraint, ("spec", "match", "namespaceSelector"), text)


def _nothing_matched(entry: Any) -> str:
    """Returns why an entry selects no objects of one of its kinds or groups; an empty string if all may exist.

    Source: gatekeeper v3.23.0 pkg/mutation/match/match.go (kindsMatch): the group and the kind are compared as written
    """
    groups, kinds = (
        [text for _, text in items(dig(entry, key)) if isinstance(text, str)] for key in ("apiGroups", "kinds")
    )
    for name in groups:
        if "/" in name:
            group = name.partition("/")[0]
            return f'"{name}" is a group with a version, and matches no object; did you mean "{group}"'
    for kind in kinds:
        known = _groups().get(kind, frozenset())
        if known and all(map(_of_kubernetes, groups)) and known.isdisjoint(groups) and groups:
            shown = ", ".join(f'"{name}"' for name in sorted(known))
            return f"{kind} is in no group of apiGroups, so that the constraint judges no {kind}; its group is {shown}"
        if kind[:1].islower():
            meant = next((name for name in _groups() if kind in (name.lower(), f"{name.lower()}s")), "")
            return f'no kind has the name "{kind}", so that the constraint judges nothing{alternatives((), meant)}'
    return ""


def _of_kubernetes(group: str) -> bool:
    """Returns whether only Kubernetes has kinds of a group. Others have kinds with the same names in own groups."""
    return group != "*" and ("." not in group or group.endswith(".k8s.io"))


@cache
def _groups() -> dict[str, frozenset[str]]:
    """The groups of each kind of Kubernetes."""
    known: dict[str, set[str]] = {"Event": {"", "events.k8s.io"}}
    for api, kind in builtin_kinds(builtin_versions()[-1]):
        known.setdefault(kind, set()).add(api.rpartition("/")[0])
    return {kind: frozenset(groups) for kind, groups in known.items()}


def _denies_everywhere(objects: ObjectSet, constraint: Manifest) -> bool:
    is_limited = not objects.is_complete and (_has_exclusion(objects) or _kinds(constraint) <= _CLUSTER_SCOPED)
    return _denies(constraint) and not (_selects(constraint) or is_limited)


def _denies(constraint: Manifest) -> bool:
    """Returns whether a constraint refuses objects.

    A constraint with the action "scoped" has an action for every enforcement point.

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
    """Returns whether a constraint selects some namespaces or objects."""
    match = dig(constraint.body, "spec", "match")
    return any(_is_set(dig(match, selector)) for selector in _SELECTORS)


def _warns_everywhere(by_kind: list[list[Manifest]]) -> Findings:
    """Yields findings about constraints that warn or audit in every namespace, while other constraints select some."""
    selecting = sum(_selects(constraint) for constraints in by_kind for constraint in constraints)
    for constraints in by_kind:
        if selecting < _SELECTING_MIN or any(_selects(constraint) for constraint in constraints):
            continue  # _compared reports constraints whose kind has other constraints with a selector.
        for constraint in constraints:
            if not _denies(constraint):
                action = dig(constraint.body, "spec", "enforcementAction")
                text = f"{action} applies to every namespace, while {selecting} other constraints select namespaces"
                yield ObjectFinding(WARNS_EVERYWHERE, constraint, ("spec", "match", "namespaceSelector"), text)


def _is_set(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_is_set(child) for child in value.values())
    return bool(value)


def _compared(objects: ObjectSet, constraints: list[Manifest]) -> Findings:
    """Yields the findings from a comparison of the constraints of one kind.

    The constraints should select the same kinds of objects, and together all values of a namespace label.
    """
    if len(constraints) > 1 and objects.is_complete:  # users may have different constraints of one kind
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
        elif not _denies_everywhere(objects, constraint):
            everywhere.append(constraint)
    for constraint in everywhere if selected else ():
        text = f"the constraint applies to every namespace; other {constraint.kind} constraints select namespaces"
        rule = DENIES_EVERYWHERE if _denies(constraint) else WARNS_EVERYWHERE
        yield ObjectFinding(rule, constraint, ("spec", "match", "namespaceSelector"), text)
    for key, values in selected.items():
        yield from _unselected_namespaces(objects, key, values)


def _unselected_namespaces(objects: ObjectSet, key: str, values: dict[str, Manifest]) -> Findings:
    """Yields a finding for every value of a label that a namespace has and no constraint selects."""
    actual = {str(labels[key]): name for name, labels in objects.namespaces.items() if key in labels}
    kind = next(iter(values.values())).kind
    for value, name in sorted(actual.items(), key=str):
        namespace = objects.find("", "Namespace", name)
        if value not in values and namespace is not None:
            text = f'no constraint of kind {kind} selects "{key}: {value}", but constraints select other values'
            yield ObjectFinding(NOT_SELECTED, namespace, ("metadata", "labels", key), text)


def _different_kinds(constraints: list[Manifest]) -> Findings:
    all_kinds = set().union(*map(_kinds, constraints))
    for constraint in constraints:
        if absent := sorted(all_kinds - _kinds(constraint)):
            text = f"the constraint does not select {', '.join(absent)}; other {constraint.kind} constraints do"
            yield ObjectFinding(DIFFERENT_KINDS, constraint, ("spec", "match", "kinds"), text)


def _kinds(manifest: Manifest, path: Path = ("match", "kinds")) -> set[str]:
    entries = items(dig(manifest.body, "spec", *path))
    return {str(kind) for _, entry in entries for _, kind in items(dig(entry, "kinds"))}


def _parameter_names(objects: ObjectSet, constraints: list[Manifest]) -> Findings:
    """Yields a finding for every parameter that names a LocalQueue or NodePool that does not exist.

    The check of references reports the parameters that gpuc knows as references.
    """
    queues = {queue.name for queue in objects.of("kueue.x-k8s.io", "LocalQueue")}
    pools = {pool.name for pool in objects.once(Pools).pools}
    for constraint in constraints:
        references = reference_paths(constraint)
        for path, value in texts(dig(constraint.body, "spec", "parameters"), ("spec", "parameters")):
            steps = [step for step in path if isinstance(step, str)]
            keys = " ".join(steps).lower()
            kind = "LocalQueue" if "queue" in keys else "NodePool"
            known = queues if "queue" in keys else pools if "pool" in keys else set()
            is_foreign = steps[-1] in OTHER_NAMES or path in references
            if value and known and value not in known and not is_foreign:
                suggestion = misspelt(value, known)
                message = missing(f"the {kind}", value, known, suggestion)
                yield ObjectFinding(UNKNOWN_IN_PARAMETER, constraint, path, message, write(suggestion))


def _unused_templates(objects: ObjectSet, kinds: set[str]) -> Findings:
    for template in objects.of(TEMPLATES, "ConstraintTemplate"):
        path = ("spec", "crd", "spec", "names", "kind")
        if isinstance(kind := dig(template.body, *path), str) and kind not in kinds:
            yield ObjectFinding(WITHOUT_CONSTRAINT, template, path, f"there is no constraint of kind {kind}")


def _unexpanded_kinds(objects: ObjectSet) -> Findings:
    templates = objects.of(EXPANSION, "ExpansionTemplate")
    kinds = set().union(*(_kinds(template, ("applyTo",)) for template in templates))
    expanded = (kind.kind for kind in workload_kinds() if kind.traits.is_expanded)
    if templates and (absent := [kind for kind in expanded if kind not in kinds]):
        text = f"no ExpansionTemplate covers {', '.join(absent)}"
        yield ObjectFinding(NOT_EXPANDED, templates[0], ("spec", "applyTo"), text)


def _has_exclusion(objects: ObjectSet) -> bool:
    """Returns whether a Config of Gatekeeper excludes namespaces."""
    return any(
        dig(entry, "excludedNamespaces")
        for config in objects.of("config.gatekeeper.sh", "Config")
        for _, entry in items(dig(config.body, "spec", "match"))
    )


@check(WRONG_PATH, kinds=("mutations.gatekeeper.sh/*",))
def paths_of_mutators(objects: ObjectSet) -> Findings:
    """Yields a finding for every Gatekeeper mutator whose `spec.location` is no valid path."""
    for kind in ("Assign", "AssignImage", "AssignMetadata", "ModifySet"):
        for mutator in objects.of("mutations.gatekeeper.sh", kind):
            text = dig(mutator.body, "spec", "location")
            if isinstance(text, str) and not _PATH.fullmatch(text):
                message = f'"{text}" is no path such as spec.containers[name: main].image'
                yield ObjectFinding(WRONG_PATH, mutator, ("spec", "location"), message)
            elif isinstance(text, str) and kind in _REFUSED and re.match(_REFUSED[kind], text):
                message = "AssignMetadata sets only labels and annotations of metadata, and Assign only other fields"
                yield ObjectFinding(WRONG_PATH, mutator, ("spec", "location"), message)
