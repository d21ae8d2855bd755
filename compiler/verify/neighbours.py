"""Namespaces that are alike have the same kinds of fences: one that lacks a kind that all others have was forgotten."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from compiler.finding import Severity, fault
from compiler.manifest import Manifest
from compiler.verify.flaw import Flaw
from compiler.verify.tree import Tree, dig, group

FORGOTTEN = fault(
    "NSP001", Severity.WARNING, "A namespace lacks a kind of object that every namespace like it has.",
    "Without a quota, a default or a binding that the others have, its work takes what it likes, or cannot start.",
)  # fmt: skip
FENCES = (
    ("", "ResourceQuota"),
    ("", "LimitRange"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("kueue.x-k8s.io", "LocalQueue"),
)
"""API group and kind of what stands around the work of a namespace."""
UNLIKE = fault(
    "NSP002", Severity.WARNING, "One of several objects of a name, in namespaces that are alike, says something else.",
    "Members of one tenant can do what those of all others cannot, or the other way round.",
)  # fmt: skip
OPEN_QUEUE = fault(
    "NSP003", Severity.WARNING, "A ClusterQueue takes work of every namespace, its neighbours only of theirs.",
    "Whoever may create a LocalQueue can use the quota of another tenant.",
)  # fmt: skip
LEAST = 2
"""More than so many have to be alike: of two nobody knows which one is odd."""


def flaws(tree: Tree) -> Iterator[Flaw]:
    """Namespaces that lack what all others with the same label keys have; only of a whole tree."""
    if not tree.is_whole:
        return
    alike: dict[frozenset[str], list[str]] = {}
    for name, labels in tree.namespaces.items():
        alike.setdefault(frozenset(labels), []).append(name)
    has = {(group(each), each.kind, each.namespace) for each in tree.manifests if each.namespace}
    for names in alike.values():
        yield from _unlike(tree, names)
        for api_group, kind in FENCES:
            lacking = [name for name in names if (api_group, kind, name) not in has]
            if len(lacking) == 1 and len(names) > LEAST:
                namespace = tree.find("", "Namespace", lacking[0])
                if namespace is not None:
                    text = f"it has no {kind}, as the other {len(names) - 1} namespaces with its labels have"
                    yield Flaw(FORGOTTEN, namespace, ("metadata", "name"), text)
    queues = tree.of("kueue.x-k8s.io", "ClusterQueue")
    everyone = [each for each in queues if dig(each.body, "spec", "namespaceSelector") == {}]
    if len(everyone) == 1 and len(queues) > LEAST:
        text = "it selects every namespace; the other queues select theirs"
        yield Flaw(OPEN_QUEUE, everyone[0], ("spec", "namespaceSelector"), text)


def _unlike(tree: Tree, namespaces: list[str]) -> Iterator[Flaw]:
    """Roles of one name that are the same in all namespaces but one."""
    alike: dict[str, list[Manifest]] = {}
    for role in tree.of("rbac.authorization.k8s.io", "Role"):
        if role.namespace in namespaces:
            alike.setdefault(role.name, []).append(role)
    for roles in alike.values():
        texts = Counter(json.dumps(each.body, sort_keys=True) for each in roles)
        if len(texts) == 2 and min(texts.values()) == 1 and len(roles) > LEAST:
            odd = next(each for each in roles if texts[json.dumps(each.body, sort_keys=True)] == 1)
            yield Flaw(UNLIKE, odd, ("rules",), f"its rules are not those of the other {len(roles) - 1} of its name")
