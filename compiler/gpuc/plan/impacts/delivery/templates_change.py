from collections import defaultdict
from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.place import place
from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change
from gpuc.plan.difference import FieldChange, differences
from gpuc.plan.impact import Impacts, Level, Raised, impact

_SHOWN = 4


@impact("IMP529", Level.NONE, source="gpuc emit/bootstrap/__init__.py: Argo CD does not sync the folder workloads/")
def templates_change(change: Change) -> Impacts:
    """Workload templates change, which users copy.

    Argo CD does not sync the templates. Copies that users made keep the old values, for example the old tolerations or
    requests, and workloads that run do not change.
    """
    groups: dict[tuple[Path, ...], list[tuple[str, Manifest]]] = defaultdict(list)
    for after, fields in _changed(change):
        paths = tuple(dict.fromkeys(field.path for field in fields))
        groups[paths].append((after.file.rsplit("/", 1)[-1].removesuffix(".yaml"), after))
    for paths, found in groups.items():
        names = list(dict.fromkeys(name for name, _ in found))
        fields_text = ", ".join(list(dict.fromkeys(_field(path) for path in paths))[:_SHOWN])
        message = f"{', '.join(names)} change: {fields_text}; copies of users keep the old values"
        details = (f"users copy again: {', '.join(dict.fromkeys(manifest.file for _, manifest in found))}",)
        yield Raised("workload templates", message, found[0][1], paths[0], details)


def _changed(change: Change) -> Iterator[tuple[Manifest, list[FieldChange]]]:
    """Yields the templates of both states that differ, with their fields."""
    before = {(one.file, one.kind, one.name): one for one in change.before.templates}
    for after in change.after.templates:
        old = before.get((after.file, after.kind, after.name))
        fields = [] if old is None or old is after else list(differences(old.document(), after.document()))
        if fields:
            yield after, fields


def _field(path: Path) -> str:
    """Returns the path of a field without the common parts of pods and without list items."""
    steps = [step for step in path if isinstance(step, str) and step not in ("spec", "template")]
    return place(tuple(steps[:3]))
