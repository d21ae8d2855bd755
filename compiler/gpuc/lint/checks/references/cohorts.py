"""Cohort names that are probably misspelt.

Kueue creates a cohort for any name. A name is therefore only a finding if a single object uses the name, no Cohort
object has the name, and another cohort has a similar name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.cluster.index import Index
from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig

MISSPELT_COHORT = declare_rule(
    "REF011",
    Severity.WARNING,
    "A cohort name that only one object uses is probably a misspelling of another cohort.",
    "Kueue creates a cohort for any name. The ClusterQueue or Cohort is the only member of its cohort, so it neither "
    "lends nor borrows quota.",
    "Kueue v0.19.2, apis/kueue/v1beta2/cohort_types.go (parentName), clusterqueue_types.go (cohortName)",
)
_KUEUE = "kueue.x-k8s.io"
_FIELDS = (("ClusterQueue", "cohortName"), ("ClusterQueue", "cohort"), ("Cohort", "parentName"), ("Cohort", "parent"))
"""Fields that name a cohort; `cohort` and `parent` are their names in v1beta1 and v1alpha1."""


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about cohorts with one member and no Cohort object, if another cohort has a similar name.

    The other cohort must have a Cohort object, or more than one member.
    """
    members: dict[str, list[tuple[Manifest, Path]]] = {}
    for kind, key in _FIELDS:
        for manifest in index.tree.of(_KUEUE, kind):
            name: Any = dig(manifest.body, "spec", key)
            if isinstance(name, str) and name:
                members.setdefault(name, []).append((manifest, ("spec", key)))
    objects = {cohort.name for cohort in index.tree.of(_KUEUE, "Cohort")}
    for name, uses in members.items():
        if len(uses) == 1 and name not in objects and (suggestion := misspelt(name, {*members, *objects})):
            manifest, path = uses[0]
            is_single_too = suggestion not in objects and len(members[suggestion]) == 1
            if not is_single_too:
                yield ObjectFinding(
                    MISSPELT_COHORT, manifest, path, missing("the Cohort", name, (), suggestion), write(suggestion)
                )
