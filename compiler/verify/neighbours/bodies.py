"""Objects of one kind and one name in namespaces that are alike: one that says something else than all others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from compiler.finding import Path, Severity, fault
from compiler.manifest import Manifest
from compiler.verify.flaw import Flaw
from compiler.verify.neighbours.policies import GROUP, is_exception, shape
from compiler.verify.tree import Tree, dig

UNLIKE = fault(
    "NSP002", Severity.WARNING, "One of several objects of a name, in namespaces that are alike, says something else.",
    "Members or pods of one tenant can do what those of all others cannot, or the other way round.",
)  # fmt: skip
LEAST = 2
"""More than so many have to be alike: of two nobody knows which one is odd."""


def unlike(tree: Tree, namespaces: Collection[str]) -> Iterator[Flaw]:
    """Objects of one name that say the same in all namespaces but one, at the first place where that one differs."""
    for kind, (api_group, seen, what) in _KINDS.items():
        alike: dict[str, list[Manifest]] = {}
        for each in tree.of(api_group, kind):
            if each.namespace in namespaces and not (kind == "NetworkPolicy" and is_exception(each)):
                alike.setdefault(each.name, []).append(each)
        for objects in alike.values():
            if len(objects) > LEAST:
                yield from _odd(tree, objects, seen, what)


def _odd(tree: Tree, objects: list[Manifest], seen: Callable[..., Any], what: str) -> Iterator[Flaw]:
    bodies = [seen(each.body, tree.namespaces.get(each.namespace, {})) for each in objects]
    texts = [json.dumps(body, sort_keys=True, default=str) for body in bodies]
    counts = Counter(texts)
    if len(counts) != 2 or min(counts.values()) != 1:
        return
    odd = next(index for index, text in enumerate(texts) if counts[text] == 1)
    usual = bodies[1 if odd == 0 else 0]
    path = _difference(bodies[odd], usual)
    expected = dig(usual, *path)
    said = f": {expected}" if isinstance(expected, str) else ""
    text = f"its {what} are not those of the other {len(objects) - 1} of its name, such as {objects[odd - 1]}{said}"
    yield Flaw(UNLIKE, objects[odd], path, text)


def _difference(body: Any, usual: Any) -> Path:
    """The first place at which one body differs from another; that of the map or list around it if it lacks one."""
    if isinstance(body, dict) and isinstance(usual, dict) and set(body) >= set(usual):
        for key in body:
            if key not in usual or body[key] != usual[key]:
                return (str(key), *(_difference(body[key], usual[key]) if key in usual else ()))
    if isinstance(body, list) and isinstance(usual, list) and len(body) >= len(usual):
        for index, each in enumerate(body):
            if index >= len(usual) or each != usual[index]:
                return (index, *(_difference(each, usual[index]) if index < len(usual) else ()))
    return ()


def _in_full(body: Any, labels: Mapping[str, Any]) -> Any:
    return shape(body, {})


def _keys(value: Any, labels: Mapping[str, Any]) -> Any:
    """What is named, without how much of it: amounts are each tenant's own."""
    if isinstance(value, dict):
        return {str(key): _keys(each, labels) for key, each in value.items()}
    return [_keys(each, labels) for each in value] if isinstance(value, list) else None


_KINDS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "Role": ("rbac.authorization.k8s.io", _in_full, "rules"),
    "NetworkPolicy": (GROUP, shape, "rules"),
    "ResourceQuota": ("", _keys, "resources"),
    "LimitRange": ("", _keys, "limits"),
}
"""By kind: its API group, what of its body is compared, and what that is called."""
