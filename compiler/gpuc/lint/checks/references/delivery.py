import posixpath
from collections.abc import Iterator, Mapping
from itertools import chain

from gpuc.catalog import load
from gpuc.cluster.application import ARGO, Application, Delivery, Source, application_in, sync_options
from gpuc.cluster.index import Index
from gpuc.cluster.queue import from_objects
from gpuc.diagnostics.spelling import alternatives, missing, misspelt, write
from gpuc.emit.component import components
from gpuc.emit.component_facts import DevicePlugin
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, items

NOT_SYNCED = rule_of("DLV001")
NOTHING_TO_SYNC = rule_of("DLV002")
NO_VALUES = rule_of("DLV003")
SYNCED_TWICE = rule_of("DLV005")
NO_CHART = rule_of("DLV004")
TWO_OWNERS = rule_of("DLV006")
DEFINED_LATER = rule_of("DLV007")
_SKIP = "SkipDryRunOnMissingResource=true"
_DEFINERS = {
    "templates.gatekeeper.sh/ConstraintTemplate": ("spec.crd.spec.names.kind", "", "constraints.gatekeeper.sh"),
    "apiextensions.crossplane.io/CompositeResourceDefinition": ("spec.names.kind", "spec.group", ""),
    "kro.run/ResourceGraphDefinition": ("spec.schema.kind", "spec.schema.group", "kro.run"),
}
"""The kinds from which a controller makes a CustomResourceDefinition: the kind and the group in it, and the default.

Source: gatekeeper v3.23.0 pkg/controller/constrainttemplate; crossplane v2.3.4 apis/apiextensions/v2/xrd_types.go;
kubernetes-sigs/kro v0.9.3 api/v1alpha1/resourcegraphdefinition_types.go
"""
FURTHER_PLUGINS = (DevicePlugin("aws.amazon.com/neuron", ("neuron-helm-chart",), "neuron-device-plugin"),)
"""Device plugins of charts that are not in the catalog. Source: aws-neuron/neuron-helm-charts"""
_KINDS_MAX = 4


@check(NOT_SYNCED, NOTHING_TO_SYNC, NO_VALUES, SYNCED_TWICE, NO_CHART, TWO_OWNERS, DEFINED_LATER)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about folders that no or several Applications sync, and about missing folders, values or charts.

    If the input has an ApplicationSet, the check does not report folders or charts without an Application. An
    ApplicationSet creates Applications that are in no file.
    """
    index = objects.once(Index)
    delivery = index.delivery
    if not delivery.sources:
        return
    for source in delivery.sources:
        yield from _folder(source, delivery, is_complete=index.tree.is_complete)
        yield from _values(source, delivery, index.tree)
    yield from _twice(delivery)
    yield from _first_sync(delivery)
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
        if not _is_plain(source):
            continue  # sources with such settings may create different objects from the same folder
        destination = application_in(source.application).destination
        for folder in delivery.synced_folders(source):
            first = synced.setdefault((source.repository, folder, *destination), source)
            if first.application is not source.application:
                message = f"Application {first.application.name} syncs {folder} to the same destination"
                yield ObjectFinding(SYNCED_TWICE, source.application, (*source.path, "path"), message)
                break


def _is_plain(source: Source) -> bool:
    """Returns whether a source applies the objects of its folder as they are."""
    is_part = any(dig(source.value, "directory", key) is not None for key in ("include", "exclude"))
    return not is_part and not any(dig(source.value, key) for key in ("helm", "kustomize", "plugin"))


def _first_sync(delivery: Delivery) -> Findings:
    """Yields findings about the first sync: objects of two Applications, and kinds that a controller defines too late.

    A controller defines such a kind only after the dry run of the sync.
    """
    first: dict[tuple[str, ...], tuple[Application, Manifest]] = {}
    for owner in delivery.applications:
        folders = [name for source in owner.sources if _is_plain(source) for name in delivery.synced_folders(source)]
        synced = [manifest for folder in folders for manifest in delivery.objects[folder]]
        made = {kind: manifest for manifest in synced if (kind := _defined(manifest))}
        for manifest in synced:
            kind, place = (group(manifest), manifest.kind), owner.destination
            # The Argo CD of each cluster has its own Applications, and the same name for the cluster.
            cluster = (posixpath.dirname(owner.manifest.file), place.server, place.name)
            key = (*cluster, *kind, manifest.namespace or place.namespace, manifest.name)
            other, same = first.setdefault(key, (owner, manifest))
            if other.name != owner.name and same is not manifest and other.prunes and owner.prunes:
                message = f"Application {other.name} has the same object in {same.file}, and both want to own it"
                yield ObjectFinding(TWO_OWNERS, manifest, ("metadata", "name"), message)
            if kind in made and _SKIP not in (*owner.options, *sync_options(manifest)):
                message = f"a controller makes the kind of {made[kind]}, after the dry run of the same Application"
                yield ObjectFinding(DEFINED_LATER, manifest, ("kind",), message, f"set the sync option {_SKIP}")


def _defined(manifest: Manifest) -> tuple[str, str] | None:
    """Returns the API group and the kind that a controller defines for an object; None for other objects."""
    row = _DEFINERS.get(f"{group(manifest)}/{manifest.kind}")
    kind, api_group = (dig(manifest.body, *path.split(".")) for path in row[:2]) if row else (None, None)
    return (str(api_group or row[2]), str(kind)) if row else None


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


def missing_charts(index: Index, delivery: Delivery) -> Findings:
    """Yields findings about charts that objects need but no Application installs, if Applications install any chart."""
    if not delivery.charts:
        return
    definitions = dict(_charts_of_definitions())
    yield from _without_definitions(delivery, definitions)
    for chart, names in load().chart_groups.items():
        if chart in definitions.values():
            continue
        users = [manifest for name in names for manifest in index.tree.manifests if group(manifest) == name]
        if users and chart not in delivery.charts:
            message = f"{_summary(users)} need chart {chart}, but no Application installs the chart"
            yield ObjectFinding(NO_CHART, users[0], ("apiVersion",), message)
    for plugin in (*device_plugins(), *FURTHER_PLUGINS):
        if not delivery.charts & set(plugin.other_charts) and not _runs(index, plugin.image):
            yield from _resource(index, plugin.prefix, plugin.other_charts)


def _charts_of_definitions() -> Iterator[tuple[str, str]]:
    """Yields the charts of controllers whose CRDs are in another chart, each with this other chart."""
    for rows in load().releases.values():
        for release in rows.values():
            if release.crds_from not in ("", release.component):
                yield release.chart, rows[release.crds_from].chart


def device_plugins() -> Iterator[DevicePlugin]:
    """Yields the device plugins of the components, each with the names of all charts that install the plugin."""
    charts = {row.component: row.chart for row in load().all_releases}
    for component in components():
        if plugin := component.device_plugin:
            yield plugin._replace(other_charts=(charts[component.name], *plugin.other_charts))


def _summary(manifests: list[Manifest]) -> str:
    """Returns the number of objects and the first few of their kinds, as text."""
    kinds = list(dict.fromkeys(manifest.kind for manifest in manifests))
    named = ", ".join(kinds[:_KINDS_MAX]) + ("..." if len(kinds) > _KINDS_MAX else "")
    return f"{len(manifests)} objects ({named})"


def _without_definitions(delivery: Delivery, definitions: Mapping[str, str]) -> Findings:
    """Yields findings about sources with skipCrds, if the chart with the CRDs is missing.

    Args:
        definitions: the chart with the CRDs, by the chart of the controller.
    """
    for source in delivery.sources:
        missing = definitions.get(source.chart, "")
        if missing and missing not in delivery.charts and dig(source.value, "helm", "skipCrds") is True:
            message = f"the chart is installed without its CRDs, and no Application installs chart {missing}"
            yield ObjectFinding(NO_CHART, source.application, (*source.path, "helm", "skipCrds"), message)


def _runs(index: Index, image: str) -> bool:
    """Returns whether pods of the input run an image whose name contains `image`."""
    containers = (container for pods in index.pods for _, container in pods.containers())
    return any(isinstance(text := dig(container, "image"), str) and image in text for container in containers)


def _resource(index: Index, prefix: str, charts: tuple[str, ...]) -> Findings:
    """Yields a finding at the first ClusterQueue that covers a resource without a chart, or else at the first pods."""
    queues = from_objects(index.tree).by_name.values()
    covering = ((queue.manifest, queue.covered_path(name), name) for queue in queues for name in queue.covered)
    requesting = ((pods.manifest, path, name) for pods in index.pods for path, name in pods.resources())
    for manifest, path, name in chain(covering, requesting):
        if manifest and isinstance(name, str) and name.startswith(prefix):
            message = f"no node has {name}, because no Application installs chart {' or '.join(charts)}"
            yield ObjectFinding(NO_CHART, manifest, path, message)
            return
