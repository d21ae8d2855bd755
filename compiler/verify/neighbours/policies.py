"""NetworkPolicies that stand in every namespace of a sort: without what is each tenant's own decision."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from compiler.finding import Severity, fault
from compiler.manifest import Manifest
from compiler.verify.flaw import Flaw
from compiler.verify.isolation.tenancy import TENANT_LABEL
from compiler.verify.tree import Tree, dig

GROUP = "networking.k8s.io"
NO_POLICY = fault(
    "NSP004", Severity.WARNING, "A namespace lacks a NetworkPolicy that every namespace like it has.",
    "Its pods cannot call what those of all others can, or are open where all others are not.",
)  # fmt: skip
_WHY = "gpuc.dev/why"
"""The annotation with which a policy gives the reason for an exception."""
_OWN = "its own"
_LEAST = 2
"""More than so many namespaces have to be alike."""


def is_exception(policy: Manifest) -> bool:
    """Whether somebody gave a reason for a policy: it is this tenant's own."""
    return bool(policy.annotations.get(_WHY))


def lacking_policies(tree: Tree, namespaces: Collection[str]) -> Iterator[Flaw]:
    """Policies that one namespace lacks: of a name that all others have, or of one that its tenant's others have.

    Who may call its pods, and exceptions with a reason, are each tenant's own decision, for all of its namespaces.
    """
    standing: dict[str, set[str]] = {}
    common: set[str] = set()
    for policy in tree.of(GROUP, "NetworkPolicy"):
        if policy.namespace in namespaces:
            standing.setdefault(policy.name, set()).add(policy.namespace)
            if _is_outward(policy) and not is_exception(policy):
                common.add(policy.name)
    fenced = {name for having in standing.values() for name in having}
    homes: dict[str, set[str]] = {}
    for name in fenced:
        homes.setdefault(str(tree.namespaces.get(name, {}).get(TENANT_LABEL, "")), set()).add(name)
    of_tenants = [spaces for tenant, spaces in homes.items() if tenant]
    for name, having in standing.items():
        lacking = fenced - having
        if len(lacking) == 1 and len(having) >= _LEAST and name in common:
            yield from _lacks(tree, name, lacking, f"the other {len(having)} namespaces with its labels have")
            continue
        for spaces in of_tenants:
            if len(spaces - having) == 1 and spaces & having:
                other = ", ".join(sorted(spaces & having))
                yield from _lacks(tree, name, spaces - having, f"namespace {other} of the same tenant has")


def _lacks(tree: Tree, policy: str, lacking: Collection[str], others: str) -> Iterator[Flaw]:
    namespace = tree.find("", "Namespace", *lacking)
    if namespace is not None:
        text = f"it has no NetworkPolicy {policy}, as {others}"
        yield Flaw(NO_POLICY, namespace, ("metadata", "name"), text)


def _is_outward(policy: Manifest) -> bool:
    types = dig(policy.body, "spec", "policyTypes")
    return "Egress" in types if isinstance(types, list) else bool(dig(policy.body, "spec", "egress"))


def shape(body: Any, labels: Mapping[str, Any]) -> Any:
    """The body of a policy with the own labels of its namespace told as such, without ports that its pods listen on.

    What listens where is each tenant's own decision; what all may call, and who may call them, is that of all.
    """
    return _own(body, labels)


def _own(value: Any, labels: Mapping[str, Any], *, inward: bool = False) -> Any:
    if isinstance(value, dict):
        if isinstance(values := value.get("values"), list) and len(values) == 1:
            own = labels.get(str(value.get("key")))
            value = {**value, "values": [_OWN]} if own is not None and values == [own] else value
        return {str(key): _of_key(str(key), each, labels, inward=inward) for key, each in value.items()}
    return [_own(each, labels, inward=inward) for each in value] if isinstance(value, list) else value


def _of_key(key: str, value: Any, labels: Mapping[str, Any], *, inward: bool) -> Any:
    if key == "ports" and inward and value:
        return "some"
    if isinstance(value, str) and labels.get(key) == value:
        return _OWN
    return _own(value, labels, inward=inward or key == "ingress")
