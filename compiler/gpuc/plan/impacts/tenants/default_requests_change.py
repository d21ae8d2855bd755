from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.quantity import quantity
from gpuc.objects.object_set import dig, items, pairs
from gpuc.plan.change import Change, Pair, grouped
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.tenant_changes import owner_of, where_text

_WORDS = {
    "defaultRequest": ("without a request get", "without a request get no default of"),
    "default": ("without a limit get", "without a limit get no default of"),
    "max": ("may have at most", "have no maximum of"),
    "min": ("must have at least", "have no minimum of"),
    "maxLimitRequestRatio": ("may have this ratio of limit and request at most:", "have no maximum ratio of"),
}
"""The words for a limit, and for a limit that is removed, by the field of the LimitRange."""
_NOUNS = {"Container": "containers", "Pod": "pods", "PersistentVolumeClaim": "PersistentVolumeClaims"}


@impact("IMP260", Level.RESTRICTS, source="kubernetes v1.35.4 plugin/pkg/admission/limitranger/admission.go")
def default_requests_change(change: Change) -> Impacts:
    """The LimitRange of a namespace changes.

    The API server applies the limits to pods that are created from then on. Pods that run keep their requests.
    """
    changed = (pair for pair in change.kept("", "LimitRange") if _changes(pair)[0])
    groups = grouped(changed, lambda pair: (owner_of(change, pair.manifest.namespace), _changes(pair)[0]))
    for (owner, texts), ranges in groups.items():
        where = where_text(owner, (pair.manifest.namespace for pair in ranges))
        yield Raised(owner, f"{', '.join(texts)}{where}", ranges[0].after, _changes(ranges[0])[1][0])


def _changes(pair: Pair) -> tuple[tuple[str, ...], list[Path]]:
    """Returns the limits that differ, in words, and their paths."""
    before, after = (_limits(value) for value in pair.values("spec", "limits"))
    found: dict[str, list[str]] = {}
    paths = []
    for key in dict.fromkeys((*after, *before)):
        (old_path, old), (path, new) = (limits.get(key, ((), None)) for limits in (before, after))
        if (quantity(old) or old) != (quantity(new) or new):
            paths.append(path or old_path)
            (of, field, resource), instead = key, "" if old is None else f" instead of {old}"
            text = resource if new is None else f"{resource} {new}{instead}"
            found.setdefault(f"{_NOUNS.get(of, of)} {_WORDS[field][new is None]}", []).append(text)
    return tuple(f"{words} {' and '.join(texts)}" for words, texts in found.items()), paths


def _limits(value: Any) -> dict[tuple[str, str, str], tuple[Path, Any]]:
    """Returns the path and the quantity of each limit, by the type of objects, the field and the resource."""
    return {
        (str(dig(entry, "type")), field, resource): (("spec", "limits", index, field, resource), limit)
        for index, entry in items(value)
        for field in _WORDS
        for resource, limit in pairs(dig(entry, field))
    }
