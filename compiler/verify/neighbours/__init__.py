"""Namespaces that are alike have the same kinds of fences: one that lacks a kind that all others have was forgotten."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.finding import Severity, fault
from compiler.verify.flaw import Flaw
from compiler.verify.neighbours.bodies import LEAST, unlike
from compiler.verify.neighbours.labels import odd_labels
from compiler.verify.neighbours.policies import lacking_policies
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
OPEN_QUEUE = fault(
    "NSP003", Severity.WARNING, "A ClusterQueue takes work of every namespace, its neighbours only of theirs.",
    "Whoever may create a LocalQueue can use the quota of another tenant.",
)  # fmt: skip


def flaws(tree: Tree) -> Iterator[Flaw]:
    """Namespaces that lack what all others with the same label keys have; only of a whole tree."""
    if not tree.is_whole:
        return
    alike: dict[frozenset[str], list[str]] = {}
    for name, labels in tree.namespaces.items():
        alike.setdefault(frozenset(labels), []).append(name)
    has = {(group(each), each.kind, each.namespace) for each in tree.manifests if each.namespace}
    for names in alike.values():
        if len(names) <= LEAST:
            continue
        yield from unlike(tree, frozenset(names))
        yield from lacking_policies(tree, frozenset(names))
        for api_group, kind in FENCES:
            lacking = [name for name in names if (api_group, kind, name) not in has]
            if len(lacking) == 1:
                namespace = tree.find("", "Namespace", lacking[0])
                if namespace is not None:
                    text = f"it has no {kind}, as the other {len(names) - 1} namespaces with its labels have"
                    yield Flaw(FORGOTTEN, namespace, ("metadata", "name"), text)
    yield from odd_labels(tree)
    queues = tree.of("kueue.x-k8s.io", "ClusterQueue")
    everyone = [each for each in queues if dig(each.body, "spec", "namespaceSelector") == {}]
    if len(everyone) == 1 and len(queues) > LEAST:
        text = "it selects every namespace; the other queues select theirs"
        yield Flaw(OPEN_QUEUE, everyone[0], ("spec", "namespaceSelector"), text)
