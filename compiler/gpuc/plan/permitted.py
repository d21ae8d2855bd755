"""What AppProjects permit: Argo CD neither applies nor deletes objects that the AppProject does not permit.

Source: argo-cd v3.5.1 controller/state.go (CompareAppState removes live objects that are not permitted),
pkg/apis/application/v1alpha1/app_project_types.go (IsResourcePermitted, IsGroupKindNamePermitted)
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, group
from gpuc.plan.applications import GROUP, Application
from gpuc.plan.state import State


def is_permitted(state: State, application: Application, manifest: Manifest) -> bool:
    """Returns whether the AppProject of an Application permits an object; True if the AppProject is not known."""
    name = dig(application.manifest.body, "spec", "project")
    project = next((one for one in state.objects.of(GROUP, "AppProject") if one.name == name), None)
    if project is None:
        return True
    spec = project.body.get("spec", {})
    if not manifest.namespace:
        return _names(spec.get("clusterResourceWhitelist"), manifest)
    allowed = spec.get("namespaceResourceWhitelist")
    if (allowed and not _names(allowed, manifest)) or _names(spec.get("namespaceResourceBlacklist"), manifest):
        return False
    return any(
        fnmatchcase(manifest.namespace, str(destination.get("namespace")))
        for destination in spec.get("destinations") or ()
    )


def _names(rows: Iterable[dict[str, Any]] | None, manifest: Manifest) -> bool:
    """Returns whether a list of API groups and kinds, which can contain *, names the kind of an object."""
    return any(
        fnmatchcase(group(manifest), str(row.get("group", ""))) and fnmatchcase(manifest.kind, str(row.get("kind", "")))
        for row in rows or ()
    )
