"""Namespaces: what stands in one that nothing makes."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.objects.index import Index
from gpuc.objects.namespace_labels import ALWAYS
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import group
from gpuc.verify.references.reference import NOT_IN_THESE_FILES, is_name

HOMELESS = declare_rule(
    "REF040",
    Severity.ERROR,
    "An object stands in a namespace that nothing makes.",
    "The API server refuses it: namespace not found.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/",
)

_DELIVERY = ("argoproj.io", "toolkit.fluxcd.io")


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Objects in a namespace without an object or an Application that makes it.

    Of files that somebody keeps, only where they have namespaces too; of each namespace the first object is told.
    """
    known, is_complete = index.namespaces, index.tree.is_complete
    if not (is_complete or known.has_objects):
        return
    argo = {project.namespace for project in index.tree.of("argoproj.io", "AppProject")}
    told: set[str] = set()
    for manifest in index.tree.manifests:
        name = manifest.namespace
        if not is_name(name) or name in known.named or name in told:
            continue
        if group(manifest).endswith(_DELIVERY) and (not is_complete or name in argo):
            continue  # the namespace of Argo CD or Flux is made with them; nothing that they deliver makes it
        told.add(name)
        near = misspelt(name, known.named)
        found = HOMELESS if is_complete or near else NOT_IN_THESE_FILES
        yield ObjectFinding(
            found,
            manifest,
            ("metadata", "namespace"),
            missing("the namespace", name, known.named - ALWAYS, near),
            write(near),
        )
