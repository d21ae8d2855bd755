from __future__ import annotations

import posixpath

from gpuc.cluster.application import ARGO, Delivery, Source, application_in
from gpuc.cluster.index import Index
from gpuc.diagnostics.spelling import alternatives, missing, misspelt, write
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.lint.checks.references.missing_charts import NO_CHART, missing_charts
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, items

NOT_SYNCED = rule_of("DLV001")
NOTHING_TO_SYNC = rule_of("DLV002")
NO_VALUES = rule_of("DLV003")
SYNCED_TWICE = rule_of("DLV005")


@check(NOT_SYNCED, NOTHING_TO_SYNC, NO_VALUES, SYNCED_TWICE, NO_CHART)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about folders that no or two Applications sync, and about missing folders, values and charts.

    Input with an ApplicationSet is not checked for missing Applications, because the Applications of an
    ApplicationSet are in no file.
    """
    index = objects.once(Index)
    delivery = index.delivery
    if not delivery.sources:
        return
    for source in delivery.sources:
        yield from _folder(source, delivery, is_complete=index.tree.is_complete)
        yield from _values(source, delivery, index.tree)
    yield from _twice(delivery)
    if index.tree.is_complete and not index.tree.has(ARGO, "ApplicationSet"):
        yield from _not_synced(delivery)
        yield from missing_charts(index, delivery)


def _folder(source: Source, delivery: Delivery, *, is_complete: bool) -> Findings:
    """Yields a finding if the folder of a source has no objects; in partial input only for a misspelt folder."""
    folder = source.folder
    if folder is None or source.repository not in delivery.repositories or delivery.synced_folders(source):
        return
    suggestion = misspelt(folder, (other for other in delivery.objects if other not in delivery.delivered))
    if suggestion or is_complete:
        message = f'the folder "{folder}" has no objects{alternatives((), suggestion)}'
        yield ObjectFinding(NOTHING_TO_SYNC, source.application, (*source.path, "path"), message, write(suggestion))


def _twice(delivery: Delivery) -> Findings:
    """Yields findings about sources whose folder another Application syncs to the same destination."""
    synced: dict[tuple[str, ...], Source] = {}
    for source in delivery.sources:
        is_part = any(dig(source.value, "directory", key) is not None for key in ("include", "exclude"))
        if is_part or any(dig(source.value, key) for key in ("helm", "kustomize", "plugin")):
            continue  # sources with such settings may create different objects from the same folder
        destination = application_in(source.application).destination
        for folder in delivery.synced_folders(source):
            first = synced.setdefault((source.repository, folder, *destination), source)
            if first.application is not source.application:
                message = f"Application {first.application.name} syncs {folder} to the same destination"
                yield ObjectFinding(SYNCED_TWICE, source.application, (*source.path, "path"), message)
                break


def _not_synced(delivery: Delivery) -> Findings:
    """Yields findings about folders that no Application syncs, below the common parent of the synced folders.

    The finding is at the first object of the folder.
    """
    root = posixpath.commonpath(delivery.delivered) if len(delivery.delivered) > 1 else ""
    if not root:
        return
    for folder, manifests in delivery.objects.items():
        if folder.startswith(f"{root}/") and folder not in delivery.delivered and not _is_applied_by_users(manifests):
            more = f" and {len(manifests) - 1} more objects" if len(manifests) > 1 else ""
            message = f"no Application syncs the folder {folder}: {manifests[0]}{more}"
            yield ObjectFinding(NOT_SYNCED, manifests[0], (), message)


def _is_applied_by_users(manifests: list[Manifest]) -> bool:
    """Returns whether users apply the objects of a folder: Applications, work in a queue, and Deployments on a pool.

    Work in a queue runs once and ends. Argo CD would start the work again.
    """
    selected = ("spec", "template", "spec", "nodeSelector", POOL_LABEL)
    return any(
        QUEUE_LABEL in manifest.labels
        or group(manifest) == ARGO
        or (manifest.kind == "Deployment" and dig(manifest.body, *selected) is not None)
        for manifest in manifests
    )


def _values(source: Source, delivery: Delivery, objects: ObjectSet) -> Findings:
    """Yields findings about values files in another source, such as "$values/out/prod-use1/kueue/values.yaml"."""
    if dig(source.value, "helm", "ignoreMissingValueFiles") is True:
        return
    known = objects.value_files if objects.is_complete else None
    for number, text in items(dig(source.value, "helm", "valueFiles")):
        if not isinstance(text, str) or not text.startswith("$") or "/" not in text:
            continue
        file_path = (*source.path, "helm", "valueFiles", number)
        name, _, file = text[1:].partition("/")
        siblings = [sibling for sibling in delivery.sources if sibling.application is source.application]
        other = next((sibling for sibling in siblings if dig(sibling.value, "ref") == name), None)
        if other is None and len(siblings) > 1:
            message = f'no source of this Application has ref "{name}"'
            yield ObjectFinding(NO_VALUES, source.application, file_path, message)
        elif other is None or known is None or other.repository not in delivery.repositories:
            continue
        elif "*" not in file and file not in known:
            suggestion = misspelt(file, known)
            message = missing("the file", file, (), suggestion)
            fix = write(f"${name}/{suggestion}" if suggestion else "")
            yield ObjectFinding(NO_VALUES, source.application, file_path, message, fix)
