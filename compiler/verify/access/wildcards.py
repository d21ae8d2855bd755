"""Wildcards in roles of pods of which every command is known: they ask for little, and are granted everything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from compiler.finding import Severity, fault
from compiler.manifest import Manifest
from compiler.verify.access.scripts import commands, image_name
from compiler.verify.access.subjects import RBAC
from compiler.verify.flaw import Flaw
from compiler.verify.references.pods import pods
from compiler.verify.tree import Tree, dig, items

EVERYTHING = fault(
    "RBA013",
    Severity.WARNING,
    "A role grants everything, and all that its pods run are a few commands of kubectl.",
    "Whoever gets into one of the pods, or onto one of their nodes, has the rights of the whole cluster.",
    "kubernetes.io/docs/concepts/security/rbac-good-practices (least privilege)",
)
_PARTS = ("verbs", "resources", "apiGroups")
Account = tuple[str, str]
"""Namespace and name of a ServiceAccount."""


def flaws(tree: Tree) -> Iterator[Flaw]:
    """Every rule with a wildcard of a role that is bound to such pods alone; in part of a cluster others may use it."""
    known = _known(tree) if tree.is_whole else {}
    if not known:
        return
    for role in (*tree.of(RBAC, "ClusterRole"), *tree.of(RBAC, "Role")):
        bound = list(_bound(tree, role))
        if not bound or not all(account in known for account in bound):
            continue
        words = ", ".join(dict.fromkeys(word for account in bound for word in known[account]))
        for number, rule in items(role.body.get("rules")):
            for part in _PARTS:
                if any(each == "*" for _, each in items(dig(rule, part))):
                    text = f"{part} is *, and the pods of {_told(bound)} run only {words}"
                    yield Flaw(EVERYTHING, role, ("rules", number, part), text)


def _known(tree: Tree) -> dict[Account, list[str]]:
    """Accounts of which every pod runs nothing but known commands, with these commands."""
    found: dict[Account, list[str]] = defaultdict(list)
    unknown: set[Account] = set()
    for each in pods(tree):
        name = dig(each.spec, "serviceAccountName") or dig(each.spec, "serviceAccount")
        if isinstance(name, str) and tree.find("", "ServiceAccount", name, each.manifest.namespace):
            account = each.manifest.namespace, name
            for _, container in each.containers():
                run = [f"kubectl {command.words[0]}" for command in commands(container)]
                found[account] += run
                if not run and image_name(container) != "pause":
                    unknown.add(account)
    return {account: run for account, run in found.items() if run and account not in unknown}


def _bound(tree: Tree, role: Manifest) -> Iterator[Account]:
    """The accounts that a role is bound to; of anybody else an account that is none."""
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in tree.of(RBAC, kind):
            reference: Any = binding.body.get("roleRef")
            is_here = role.kind == "ClusterRole" or binding.namespace == role.namespace
            if dig(reference, "kind") == role.kind and dig(reference, "name") == role.name and is_here:
                for _, subject in items(binding.body.get("subjects")):
                    is_account = dig(subject, "kind") == "ServiceAccount"
                    home = str(dig(subject, "namespace") or binding.namespace) if is_account else ""
                    yield home, str(dig(subject, "name"))


def _told(accounts: list[Account]) -> str:
    return " and ".join(f"service account {home}/{name}" for home, name in dict.fromkeys(accounts))
