"""Which kinds an entry of `match.kinds` of a constraint selects.

Source: gatekeeper v3.23.0 pkg/mutation/match/match.go (kindsMatch): the group and the kind are compared as they are
"""

from functools import cache
from typing import Any

from gpuc.catalog.schemas import builtin_kinds, builtin_versions
from gpuc.diagnostics.spelling import alternatives
from gpuc.objects.object_set import dig, items


def nothing_matched(entry: Any) -> str:
    """Returns why an entry selects no objects of one of its kinds or groups; an empty string if all may exist."""
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
