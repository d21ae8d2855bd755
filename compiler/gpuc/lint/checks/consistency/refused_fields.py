"""Finds fields of an object because of which the API server or the webhook of a job controller refuses the object.

The check uses the tables of gpuc.admission.validation, as `gpuc trace` does. Some findings are about a missing field or
about two fields, so they need the complete object. Other rules report violations of schemas, wrong amounts, mounts and
repeated names.
"""

from gpuc.admission.request import Decision
from gpuc.admission.validation.all_tables import tables
from gpuc.admission.validation.field import Field
from gpuc.admission.validation.kueue import CHECK as KUEUE
from gpuc.admission.validation.validation import with_defaults
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, pairs
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.kueue_scope import manages

REFUSED_FIELD = rule_of("OBJ024")
_OF_OTHER_RULES = (("metadata", "labels"), ("limits",), ("requests",), ("volumeMounts", "name"))
"""Parts of paths that OBJ001, OBJ002 and OBJ020 report."""


@check(REFUSED_FIELD)
def findings(objects: ObjectSet) -> Findings:
    """Yields a finding for every field because of which the API server or a webhook refuses a new object."""
    for manifest in objects.manifests:
        kind = f"{group(manifest)}/{manifest.kind}"
        if kind in tables():
            yield from _refused(objects, manifest, kind)


def _refused(objects: ObjectSet, manifest: Manifest, kind: str) -> Findings:
    written = manifest.document()
    if "batch.kubernetes.io/controller-uid" in dict(pairs(dig(written, "spec", "selector", "matchLabels"))):
        return  # a Job of a cluster has the selector that the API server generates, and that a new Job cannot have
    is_queued = QUEUE_LABEL in manifest.labels and manages(objects.once(ClusterIndex), group(manifest), manifest.kind)
    reported = set()
    for problem in tables().problems(kind, Field((), with_defaults(written))):
        value = dig(written, *problem.field)
        # Without a queue, Kueue may not read the pods. Other rules report fields outside of the pod template.
        is_unsure = problem.check == KUEUE and not (is_queued and "annotations" in problem.field[2:])
        if problem.outcome != "denied" or problem.field in reported or is_unsure or _has_other_rule(problem):
            continue
        reported.add(problem.field)
        needs = "complete object" if value is None else "" if "; expected " in problem.message else "complete pods"
        parts = (manifest, problem.field, problem.message, problem.fix)
        yield ObjectFinding(REFUSED_FIELD, *parts, needs=needs, yields=True)


def _has_other_rule(problem: Decision) -> bool:
    steps = problem.field
    is_known = any(steps[-len(part) :] == part or set(part) <= {*steps[-3:]} for part in _OF_OTHER_RULES)
    return is_known or problem.message.startswith(("two containers of", "two volumes have"))
