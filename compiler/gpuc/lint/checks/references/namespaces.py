"""Namespaces of objects that neither an object nor an Application of the input creates."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.index import Index
from gpuc.cluster.namespace import ALWAYS
from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import group
from gpuc.verify.references.reference import NOT_IN_THESE_FILES, is_name

NO_NAMESPACE = declare_rule(
    "REF040",
    Severity.ERROR,
    "No object and no Application creates the namespace of an object.",
    "The API server refuses the object: namespace not found.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/",
)

_DELIVERY = ("argoproj.io", "toolkit.fluxcd.io")


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about objects in a namespace that neither an object nor an Application creates.

    Partial input is checked only if it has Namespace objects. The finding is at the first object of the namespace.
    """
    known, is_complete = index.namespaces, index.tree.is_complete
    if not (is_complete or known.has_objects):
        return
    argo = {project.namespace for project in index.tree.of("argoproj.io", "AppProject")}
    reported: set[str] = set()
    for manifest in index.tree.manifests:
        name = manifest.namespace
        if not is_name(name) or name in known.named or name in reported:
            continue
        if group(manifest).endswith(_DELIVERY) and (not is_complete or name in argo):
            continue  # the namespace of Argo CD or Flux exists before Argo CD or Flux delivers objects
        reported.add(name)
        suggestion = misspelt(name, known.named)
        rule = NO_NAMESPACE if is_complete or suggestion else NOT_IN_THESE_FILES
        yield ObjectFinding(
            rule,
            manifest,
            ("metadata", "namespace"),
            missing("the namespace", name, known.named - ALWAYS, suggestion),
            write(suggestion),
        )
