"""Groups the files that a compile wrote or removed by cluster and by subject, for example by node pool."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gpuc.diagnostics.report.changes import ADDED, CHANGED, REMOVED, ClusterChange, SubjectChange
from gpuc.write.lockfile import lock_file

if TYPE_CHECKING:
    from gpuc.write.writer import Output, Plan

_SECTIONS = {"tenants": "tenant", "pools": "node pool", "queues": "queue", "cohorts": "cohort"}
"""The sections of the spec whose elements are subjects.

If a file has elements of several sections, its subject is the element of the first section in this list: the file of a
tenant also contains the LocalQueues of the tenant.
"""
_FOLDERS = {
    "apps": "Argo CD Applications",
    "extra": "manifests of the user",
    "monitoring": "monitoring",
    "policies": "policies",
    "workloads": "workloads",
}
"""The subjects of files without such elements, by folder in the output of the cluster. Other folders are components."""
_ORDER = (*_SECTIONS.values(), *_FOLDERS.values())


def changes(plan: "Plan", outputs: "Sequence[Output]") -> tuple[ClusterChange, ...]:
    """Returns what a compile changed in each cluster. The subjects are in the order of the sections of the spec.

    The gpuc.lock of the old output and that of the new output contain the spec paths of each file. So the function
    reads no objects.

    Args:
        plan: the plan that was written.
        outputs: the output of all clusters that were compiled.
    """
    clusters: dict[str, dict[str, str]] = {}
    for change, files in ((ADDED, plan.added), (CHANGED, plan.changed), (REMOVED, plan.removed)):
        for file in files:
            clusters.setdefault(file.split("/")[1], {})[file] = change
    if not clusters:
        return ()
    locks = {output.cluster: output.lock for output in outputs}
    before = {change.path: change.before for change in plan.changes if change.before is not None}
    return tuple(
        _cluster(name, files, locks.get(name, ""), before.get(lock_file(name), b""))
        for name, files in sorted(clusters.items())
    )


def _cluster(name: str, files: dict[str, str], lock: str, before: bytes) -> ClusterChange:
    of_lock = files.pop(lock_file(name), "")
    change = of_lock or CHANGED
    subjects = () if change in (ADDED, REMOVED) else tuple(_subjects(files, _origins(lock), _origins(before)))
    return ClusterChange(change, name, len(files), bool(of_lock), subjects)


def _origins(lock: str | bytes) -> dict[str, list[list[str | int]]]:
    """Returns the spec paths of the objects of each file in a gpuc.lock."""
    files = json.loads(lock)["files"] if lock else {}
    return {file: [row["path"] for row in entry.get("from", ())] for file, entry in files.items()}


def _subjects(
    files: Mapping[str, str],
    after: Mapping[str, list[list[str | int]]],
    before: Mapping[str, list[list[str | int]]],
) -> Iterator[SubjectChange]:
    groups: dict[str, dict[str, list[str]]] = {}
    for file, change in files.items():
        subject = _subject(file, after.get(file) or before.get(file, []))
        groups.setdefault(subject, {ADDED: [], CHANGED: [], REMOVED: []})[change].append(file)
    existed = {_subject(file, origins) for file, origins in before.items()}
    exists = {_subject(file, origins) for file, origins in after.items()}
    for subject in sorted(groups, key=_order):
        change = ADDED if subject not in existed and before else CHANGED if subject in exists else REMOVED
        group = groups[subject]
        yield SubjectChange(change, subject, *(tuple(group[key]) for key in (ADDED, CHANGED, REMOVED)))


def _order(subject: str) -> tuple[int, str]:
    """Returns the sort key of a subject: by the sections of the spec, then components, then monitoring and so on."""
    position = next((number for number, start in enumerate(_ORDER) if subject.startswith(start)), len(_SECTIONS))
    return (position, subject)


def _subject(file: str, origins: Sequence[Sequence[str | int]]) -> str:
    """Returns the subject of a file.

    Args:
        origins: the spec paths of the objects in the file.
    """
    top, _, *folders, name = file.split("/")
    if top == "clusters":
        return "files of the first sync"
    if folders[:1] not in (["extra"], ["apps"]):
        for section, noun in _SECTIONS.items():
            elements = {path[2] for path in origins if path[:2] == ["spec", section] and len(path) > 2}
            if len(elements) == 1:
                return f"{noun} {elements.pop()}"
            if elements:
                break
    if folders[:1] == ["charts"] and len(folders) > 1:
        return f"chart {folders[1]}"
    folder = folders[0] if folders else name
    return _FOLDERS.get(folder, f"component {folder}")
