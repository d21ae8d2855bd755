from collections import defaultdict
from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.place import place
from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change
from gpuc.plan.difference import differences
from gpuc.plan.impact import Impacts, Level, Raised, impact

_SHOWN = 6


@impact("IMP529", Level.NONE, source="gpuc emit/bootstrap/__init__.py: Argo CD does not sync the folder workloads/")
def templates_change(change: Change) -> Impacts:
    """Workload templates change, which users copy.

    Argo CD does not sync the templates. Copies that users made keep the old values, for example the old tolerations or
    requests, and workloads that run do not change.
    """
    fields: dict[tuple[str, ...], list[str]] = defaultdict(list)
    places: list[tuple[Manifest, Path]] = []
    for after, paths in _changed(change):
        name = after.file.rsplit("/", 1)[-1].removesuffix(".yaml")
        names = fields[tuple(dict.fromkeys(map(_field, paths)))]
        names.extend([] if name in names else [name])
        places.append((after, paths[0]))
    if places:
        pools = list(dict.fromkeys(name for names in fields.values() for name in names))
        verb = "changes" if len(pools) == 1 else "change"
        message = f"{', '.join(pools)} {verb}; copies of users keep the old values until users copy again"
        details = [f"{', '.join(names)}: {', '.join(changed[:_SHOWN])}" for changed, names in fields.items()]
        manifest, path = places[0]
        yield Raised("workload templates", message, manifest, path, tuple(details))


def _changed(change: Change) -> Iterator[tuple[Manifest, list[Path]]]:
    """Yields the templates of both states that differ, with the paths. Users choose the namespace themselves."""
    before = {(template.file, template.kind, template.name): template for template in change.before.templates}
    for after in change.after.templates:
        old = before.get((after.file, after.kind, after.name))
        if old is None or old is after:
            continue
        paths = [field.path for field in differences(old.document(), after.document())]
        if paths := [path for path in paths if path != ("metadata", "namespace")]:
            yield after, paths


def _field(path: Path) -> str:
    """Returns the path of a field without the common parts of pods and without list items."""
    steps = [step for step in path if isinstance(step, str) and step not in ("spec", "template")]
    return place(tuple(steps[:3]))
