"""Adds and merges the tolerations of pods as the admission plugins of the API server do.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/helper/helpers.go (AddOrUpdateTolerationInPod),
pkg/util/tolerations/tolerations.go (MergeTolerations)
"""

from __future__ import annotations

from typing import Any

from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig, items

_IDENTITY = ("key", "operator", "value", "effect")


def add_or_update(tolerations: Any, added: Body) -> list[Any]:
    """Returns a list of tolerations with one more, which replaces a toleration with the same key, value and effect."""
    declared = [toleration for _, toleration in items(tolerations)]
    same = [all((dig(old, field) or "") == (added.get(field) or "") for field in _IDENTITY) for old in declared]
    updated = [added if is_same else old for old, is_same in zip(declared, same, strict=True)]
    return updated if any(same) else [*updated, added]


def merge(first: Any, second: Any) -> list[Any]:
    """Returns the tolerations of two lists, without those that another toleration includes."""
    every = [toleration for tolerations in (first, second) for _, toleration in items(tolerations)]
    merged: list[Any] = []
    for number, toleration in enumerate(every):
        is_known = any(_includes(old, toleration) for old in merged)
        later = (other for other in every[number + 1 :] if other != toleration)
        if not is_known and not any(_includes(other, toleration) for other in later):
            merged.append(toleration)
    return merged


def _includes(wide: Any, narrow: Any) -> bool:
    """Returns whether a toleration tolerates all taints that another one tolerates."""
    if wide == narrow:
        return True
    wide_key, wide_operator, wide_value, wide_effect = (dig(wide, field) or "" for field in _IDENTITY)
    key, operator, value, effect = (dig(narrow, field) or "" for field in _IDENTITY)
    if key != wide_key and (wide_key or wide_operator != "Exists"):
        return False
    if wide_effect not in ("", effect):
        return False
    longest, seconds = dig(wide, "tolerationSeconds"), dig(narrow, "tolerationSeconds")
    if wide_effect == "NoExecute" and longest is not None and (seconds is None or seconds > longest):
        return False
    if wide_operator == "Exists":
        return True
    return bool(wide_operator in ("", "Equal") and operator == "Equal" and value == wide_value)
