"""Objects of two Applications, and objects whose kind a controller defines only after the sync has begun.

Argo CD checks all objects of a sync in a dry run, and knows a kind that the cluster lacks only if the sync has its
CustomResourceDefinition. Sync waves come after the dry run.

Source: argo-cd v3.5.1 controller/state.go (SharedResourceWarning), gitops-engine/pkg/sync/sync_context.go
(shouldSkipDryRunOnMissingResource)
"""

from collections.abc import Iterator

from gpuc.cluster.application import Application, sync_options
from gpuc.cluster.index import Index
from gpuc.diagnostics.finding import Path
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group

TWO_OWNERS = rule_of("DLV006")
DEFINED_LATER = rule_of("DLV007")
_SKIP = "SkipDryRunOnMissingResource=true"
_DEFINERS: dict[tuple[str, str], tuple[str, Path, Path]] = {
    ("templates.gatekeeper.sh", "ConstraintTemplate"): ("Gatekeeper", (), ("spec", "crd", "spec", "names", "kind")),
    ("apiextensions.crossplane.io", "CompositeResourceDefinition"): (
        "Crossplane", ("spec", "group"), ("spec", "names", "kind"),
    ),
    ("kro.run", "ResourceGraphDefinition"): ("kro", ("spec", "schema", "group"), ("spec", "schema", "kind")),
}  # fmt: skip
"""The kinds from which a controller makes a CustomResourceDefinition: the controller, the group and the kind in it.

Source: gatekeeper v3.23.0 pkg/controller/constrainttemplate; crossplane v2 apis/apiextensions; kro v0.5 api/v1alpha1
"""
_GROUPS = {"Gatekeeper": "constraints.gatekeeper.sh", "kro": "kro.run"}
"""The groups of definitions that name no group."""


@check(TWO_OWNERS, DEFINED_LATER)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about objects that a second Application has, and about kinds that the first sync lacks."""
    index = objects.once(Index)
    first: dict[tuple[str, ...], tuple[Application, Manifest]] = {}
    for application in index.delivery.applications:
        synced = list(_synced(index, application))
        yield from _defined_later(application, synced)
        for manifest in synced:
            place = application.destination
            namespace = manifest.namespace or place.namespace
            key = (place.server, place.name, group(manifest), manifest.kind, namespace, manifest.name)
            owner, other = first.setdefault(key, (application, manifest))
            if owner is not application and other is not manifest and owner.prunes and application.prunes:
                message = f"Application {owner.name} has the same object in {other.file}: each sync takes the object "
                message += "from the other Application, and what one of them removes, the other lacks"
                yield ObjectFinding(TWO_OWNERS, manifest, ("metadata", "name"), message)


def _synced(index: Index, application: Application) -> Iterator[Manifest]:
    """Yields the objects that an Application applies as they are in its folders."""
    for source in application.sources:
        is_part = any(dig(source.value, "directory", key) is not None for key in ("include", "exclude"))
        if is_part or any(dig(source.value, key) for key in ("helm", "kustomize", "plugin")):
            continue
        for folder in index.delivery.synced_folders(source):
            yield from index.delivery.objects[folder]


def _defined_later(application: Application, synced: list[Manifest]) -> Findings:
    made: dict[tuple[str, str], tuple[str, Manifest]] = {}
    for manifest in synced:
        if row := _DEFINERS.get((group(manifest), manifest.kind)):
            controller, group_path, kind_path = row
            api_group = dig(manifest.body, *group_path) if group_path else None
            kind = (str(api_group or _GROUPS.get(controller)), str(dig(manifest.body, *kind_path)))
            made[kind] = (controller, manifest)
    for manifest in synced if _SKIP not in application.options else ():
        found = made.get((group(manifest), manifest.kind))
        if found and _SKIP not in sync_options(manifest):
            controller, definition = found
            message = f"{controller} defines the kind only after {definition.kind} {definition.name} of the same "
            message += f"Application {application.name}, whose first sync fails in the dry run, whatever the sync waves"
            yield ObjectFinding(DEFINED_LATER, manifest, ("kind",), message, f"set the sync option {_SKIP}")
