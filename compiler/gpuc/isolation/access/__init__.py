"""RBAC checks: tenants must not have too many permissions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from gpuc.diagnostics.finding import Path, Rule
from gpuc.isolation.access.powers import ELSEWHERE, NETWORK, WILDCARD, Held, Scope, held, is_wild
from gpuc.isolation.access.subjects import Access, Bound, RoleRule
from gpuc.isolation.fences import NETWORK_POLICY, Fences
from gpuc.isolation.summarize import few
from gpuc.isolation.tenancy import Tenancy, labelled_tenancy
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import GROUP
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet


class ExcessPermission(NamedTuple):
    """Powers of one kind that a rule of a role gives to a subject through a binding."""

    rule: Rule
    bound: Bound
    role_rule: RoleRule
    powers: tuple[Held, ...]


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """What tenants have too much, by the label gpuc.dev/tenant of their namespaces."""
    tenancy = labelled_tenancy(tree)
    if not tenancy.tenants:
        return
    access = Access(tree, tenancy)
    told: dict[tuple[Rule, int, Path], list[ExcessPermission]] = defaultdict(list)
    for excess in excess_permissions(tree, tenancy, access):
        manifest, path = _place(excess)
        told[excess.rule, id(manifest), path].append(excess)
    for (rule, _, path), group in told.items():
        yield ObjectFinding(rule, _place(group[0])[0], path, _message(group))


def excess_permissions(tree: ObjectSet, tenancy: Tenancy, access: Access) -> Iterator[ExcessPermission]:
    """Every rule of a role that gives a tenant a power that it must not have."""
    fences = Fences(tree)
    for bound in access.bound:
        for role_rule in access.rules(bound):
            found: dict[Rule, list[Held]] = defaultdict(list)
            for each in held(role_rule.grant):
                is_loose = not _is_fenced(each, bound, tree, tenancy, fences)
                if _counts(each, bound, tenancy) and is_loose and _exists(role_rule.grant.names, each, bound, tree):
                    found[each.power.rule].append(each)
            if is_wild(role_rule.grant) and found:
                everything = tuple(each for group in found.values() for each in group)
                yield ExcessPermission(WILDCARD, bound, role_rule, everything)
                continue
            for rule, group in found.items():
                yield ExcessPermission(rule, bound, role_rule, tuple(group))


def _counts(power: Held, bound: Bound, tenancy: Tenancy) -> bool:
    """Whether a power is too much where the binding holds."""
    if not bound.namespace:
        return True
    if power.power.scope is Scope.CLUSTER:
        return False
    is_home = tenancy.tenants.get(bound.namespace) in bound.tenants and not bound.is_everybody
    return not is_home or power.power.scope is Scope.ANYWHERE


def _is_fenced(power: Held, bound: Bound, tree: ObjectSet, tenancy: Tenancy, fences: Fences) -> bool:
    """A constraint on the peers of NetworkPolicies takes the harm from new ones: they can only add allowed peers.

    One that is changed or deleted isolates fewer pods, which no look at its peers finds out.
    """
    if power.power.rule is not NETWORK or power.verbs != {"create"} or not bound.namespace:
        return False
    labels = tenancy.namespaces.get(bound.namespace, {})
    is_denied = fences.judging(NETWORK_POLICY, GROUP, "NetworkPolicy", bound.namespace, labels) is not None
    return is_denied or not tree.is_complete


_KINDS = {
    ("", "resourcequotas"): "ResourceQuota",
    ("", "limitranges"): "LimitRange",
    ("networking.k8s.io", "networkpolicies"): "NetworkPolicy",
    ("kueue.x-k8s.io", "localqueues"): "LocalQueue",
}
"""Kinds whose objects a whole tree lists, so that names of others are of no matter."""


def _exists(names: tuple[str, ...], power: Held, bound: Bound, tree: ObjectSet) -> bool:
    """Whether a role_rule about named objects is about any that fence the tenant in."""
    kind = _KINDS.get((power.group, power.resource))
    if not names or kind is None or not tree.has(power.group, kind):
        return True
    return any(tree.find(power.group, kind, name, bound.namespace) for name in names) or not bound.namespace


def _place(excess: ExcessPermission) -> tuple[Manifest, Path]:
    """The rule of the role, where the rule is wrong for every subject; else the binding."""
    bound, role_rule = excess.bound, excess.role_rule
    is_misbound = excess.rule is ELSEWHERE or not bound.namespace or bound.is_everybody
    if role_rule.role is None or is_misbound:
        return bound.binding, ("roleRef", "name") if role_rule.role is None and not is_misbound else (
            "subjects",
            bound.number,
        )
    return role_rule.role, ("rules", role_rule.number)


def _message(group: list[ExcessPermission]) -> str:
    first = group[0].bound
    what = {
        f"{', '.join(sorted(held.verbs))} {held.resource}{f'.{held.group}' if held.group else ''}"
        for excess in group
        for held in excess.powers
    }
    where = few({excess.bound.namespace for excess in group}) if first.namespace else "every namespace"
    whose = "every tenant" if first.is_everybody else f"tenant {' and '.join(sorted(first.tenants))}"
    role = group[0].role_rule.role
    through = f" through {role.kind if role else 'ClusterRole'} {role.name if role else first.role_name}"
    return f"{first.subject}, who works for {whose}, may {few(what)} in {where}{through}"
