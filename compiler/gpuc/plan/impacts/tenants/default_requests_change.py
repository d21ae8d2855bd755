from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change
from gpuc.plan.difference import MISSING, FieldChange
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.tenant_changes import owner_of

_WORDS = {
    "defaultRequest": "containers without a request get {}",
    "default": "containers without a limit get {}",
    "max": "containers may have at most {}",
    "min": "containers must have at least {}",
}


@impact("IMP260", Level.RESTRICTS, source="kubernetes v1.35.4 plugin/pkg/admission/limitranger/admission.go")
def default_requests_change(change: Change) -> Impacts:
    """The LimitRange of a namespace changes.

    The API server applies the limits to pods that are created from then on. Pods that run keep their requests.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[str, FieldChange]]] = {}
    manifests: dict[tuple[str, tuple[str, ...]], Manifest] = {}
    for pair in change.pairs("", "LimitRange"):
        fields = [field for field in pair.fields if pair.is_changed and field.is_below("spec", "limits")]
        texts = tuple(_text(field) for field in fields)
        if fields and pair.after:
            key = owner_of(change, pair.manifest.namespace), texts
            manifests.setdefault(key, pair.after)
            groups.setdefault(key, []).append((pair.manifest.namespace, fields[0]))
    for (owner, texts), rows in groups.items():
        where = "" if owner.startswith("namespace") else f" in {', '.join(namespace for namespace, _ in rows)}"
        yield Raised(owner, f"{', '.join(texts)}{where}", manifests[owner, texts], rows[0][1].path)


def _text(field: FieldChange) -> str:
    """Returns a change in words; another limit in the words of the LimitRange."""
    kind, resource = (str(step) for step in (*field.path[3:5], "", "")[:2])
    after = "no default" if field.after is MISSING else field.after
    before = "" if field.before is MISSING else f" instead of {field.before}"
    return _WORDS.get(kind, f"{kind} is {{}}").format(f"{resource} {after}{before}".strip())
