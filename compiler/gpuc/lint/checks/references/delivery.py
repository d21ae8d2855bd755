"""Delivery by Argo CD: whether everything of a tree is synced, and everything that is synced is there."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.lint.checks.references.charts import missing_charts
from gpuc.manifest.manifest import Manifest
from gpuc.objects.application_sources import ARGO, Delivery, Source
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, items

NOT_SYNCED = declare_rule(
    "DLV001",
    Severity.ERROR,
    "No Application syncs a folder, although others sync the folders beside it.",
    "What stands in it never reaches the cluster, or nobody keeps it as it is written.",
    "Argo CD v3.5, docs/operator-manual/cluster-bootstrapping.md",
)
NOTHING_TO_SYNC = declare_rule(
    "DLV002",
    Severity.ERROR,
    "An Application's folder holds no file of the tree that it is about.",
    "Argo CD reports ComparisonError, app path does not exist, and syncs nothing of it.",
    "Argo CD v3.5, docs/user-guide/directory.md",
)
NO_VALUES = declare_rule(
    "DLV003",
    Severity.ERROR,
    "An Application installs a chart with values that are not there.",
    "Argo CD reports ComparisonError and installs nothing of the chart.",
    "Argo CD v3.5, docs/user-guide/multiple_sources.md (Helm value files from external Git repository)",
)
SYNCED_TWICE = declare_rule(
    "DLV005",
    Severity.WARNING,
    "Two Applications sync the same folder to the same place.",
    "Each takes the objects for its own: Argo CD warns of shared resources, and with FailOnSharedResource none syncs.",
    "Argo CD v3.5, docs/user-guide/sync-options.md (Fail the sync if a shared resource is found)",
)
_QUEUE = "kueue.x-k8s.io/queue-name"


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Folders that nothing syncs, or two do; Applications without files or values; charts that nobody installs.

    What ApplicationSets make is in no file: beside one, nothing is told to be left out.
    """
    found = index.delivery
    if not found.sources:
        return
    for source in found.sources:
        yield from _folder(source, found, is_complete=index.tree.is_complete)
        yield from _values(source, found, index.tree)
    yield from _twice(found)
    if index.tree.is_complete and not index.tree.has(ARGO, "ApplicationSet"):
        yield from _left_out(found)
        yield from missing_charts(index, found)


def _folder(source: Source, found: Delivery, *, is_complete: bool) -> Iterator[ObjectFinding]:
    """That a source syncs nothing; of files that somebody keeps, only where a folder is misspelt that nothing syncs."""
    folder = source.folder
    if folder is None or source.repository not in found.repositories or found.synced_folders(source):
        return
    near = misspelt(folder, (each for each in found.objects if each not in found.delivered))
    if near or is_complete:
        message = missing("the folder", folder, (), near) + ", with objects in it"
        yield ObjectFinding(NOTHING_TO_SYNC, source.application, (*source.path, "path"), message, write(near))


def _twice(found: Delivery) -> Iterator[ObjectFinding]:
    """Sources whose folders another Application of the same destination syncs too."""
    seen: dict[tuple[str, ...], Source] = {}
    for source in found.sources:
        if any(dig(source.value, key) for key in ("helm", "kustomize", "plugin")) or _is_part(source):
            continue  # each may make other objects of the folder
        destination = dig(source.application.body, "spec", "destination")
        place = tuple(str(dig(destination, key)) for key in ("server", "name", "namespace"))
        for folder in found.synced_folders(source):
            first = seen.setdefault((source.repository, folder, *place), source)
            if first.application is not source.application:
                message = f"Application {first.application.name} syncs {folder} to the same place"
                yield ObjectFinding(SYNCED_TWICE, source.application, (*source.path, "path"), message)
                break


def _is_part(source: Source) -> bool:
    """Whether some files of the folder are left out."""
    directory = dig(source.value, "directory")
    return dig(directory, "include") is not None or dig(directory, "exclude") is not None


def _left_out(found: Delivery) -> Iterator[ObjectFinding]:
    """Folders beside those that are synced; of each the first object is told."""
    root = posixpath.commonpath(found.delivered) if len(found.delivered) > 1 else ""
    if not root:
        return
    for folder, manifests in found.objects.items():
        if folder.startswith(f"{root}/") and folder not in found.delivered and not _is_by_hand(manifests):
            more = f" and {len(manifests) - 1} more objects" if len(manifests) > 1 else ""
            message = f"no Application syncs the folder {folder}: {manifests[0]}{more}"
            yield ObjectFinding(NOT_SYNCED, manifests[0], (), message)


def _is_by_hand(manifests: list[Manifest]) -> bool:
    """Whether people apply what stands in a folder: the Applications themselves, and work that they submit to queues.

    Work runs once and ends; what is synced would start it again.
    """
    return any(_QUEUE in each.labels or group(each) == ARGO for each in manifests)


def _values(source: Source, found: Delivery, tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Value files of another source of the Application: "$values/out/prod-use1/kueue/values.yaml"."""
    if dig(source.value, "helm", "ignoreMissingValueFiles") is True:
        return
    for number, text in items(dig(source.value, "helm", "valueFiles")):
        if not isinstance(text, str) or not text.startswith("$") or "/" not in text:
            continue
        place = (*source.path, "helm", "valueFiles", number)
        name, _, file = text[1:].partition("/")
        beside = [each for each in found.sources if each.application is source.application]
        other = next((each for each in beside if dig(each.value, "ref") == name), None)
        if other is None and len(beside) > 1:
            yield ObjectFinding(NO_VALUES, source.application, place, f'no source of this Application has ref "{name}"')
        elif other is not None and _is_missing(file, other, found, tree):
            near = misspelt(file, tree.value_files or ())
            message = missing("the file", file, (), near)
            yield ObjectFinding(NO_VALUES, source.application, place, message, write(f"${name}/{near}" if near else ""))


def _is_missing(file: str, source: Source, found: Delivery, tree: ObjectSet) -> bool:
    is_known = tree.is_complete and tree.value_files is not None and source.repository in found.repositories
    return is_known and "*" not in file and file not in (tree.value_files or ())
