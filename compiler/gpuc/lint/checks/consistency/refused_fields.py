"""Finds fields of an object because of which the API server or the webhook of a job controller refuses the object.

The check uses the tables of gpuc.admission.validation, as `gpuc trace` does. Some findings are about a missing field or
about two fields, so they need the complete object. Other rules report violations of schemas, wrong amounts, mounts and
repeated names.
"""

from collections import Counter
from contextlib import suppress

from msgspec.structs import replace

from gpuc.admission.request import Decision
from gpuc.admission.validation.all_tables import tables
from gpuc.admission.validation.field import Field
from gpuc.admission.validation.kueue import CHECK as KUEUE
from gpuc.admission.validation.validation import with_defaults
from gpuc.catalog.schemas import custom
from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.lint.crds.cel_rules import BROKEN_RULE, broken_rules
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, pairs
from gpuc.verify.subject import Subject

REFUSED_FIELD = rule_of("OBJ024")
_OF_OTHER_RULES = (("metadata", "labels"), ("limits",), ("requests",), ("volumeMounts", "name"))
"""Parts of paths that OBJ001, OBJ002 and OBJ020 report."""
_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")


@check(REFUSED_FIELD)
def findings(objects: ObjectSet) -> Findings:
    """Yields a finding for every field of a new object that violates the tables of the object's kind."""
    for manifest in objects.manifests:
        kind = f"{group(manifest)}/{manifest.kind}"
        if kind in tables():
            yield from _refused(manifest, kind)


def _refused(manifest: Manifest, kind: str) -> Findings:
    written = manifest.document()
    if "batch.kubernetes.io/controller-uid" in dict(pairs(dig(written, "spec", "selector", "matchLabels"))):
        return  # a Job of a cluster has the selector that the API server generates, and that a new Job cannot have
    reported = set()
    for problem in tables().problems(kind, Field((), with_defaults(written))):
        value = dig(written, *problem.field)
        if problem.outcome != "denied" or problem.field in reported or _has_other_rule(problem):
            continue
        reported.add(problem.field)
        needs = "complete object" if value is None else "" if "; expected " in problem.message else "complete pods"
        parts = (manifest, problem.field, problem.message, problem.fix)
        yield ObjectFinding(REFUSED_FIELD, *parts, needs=needs, yields=True)


def _has_other_rule(problem: Decision) -> bool:
    steps = problem.field
    is_known = any(steps[-len(part) :] == part or set(part) <= {*steps[-3:]} for part in _OF_OTHER_RULES)
    return problem.check == KUEUE or is_known or problem.message.startswith(("two containers of", "two volumes have"))


@check(BROKEN_RULE, kinds=(f"{KARPENTER}/*", f"{KARPENTER_AWS}/*", "/".join(_DEFINITION)))
def of_definitions(objects: ObjectSet) -> Findings:
    """Yields a finding for each CEL rule of the catalog that an object violates; none of kinds that objects define."""
    specs = [dig(row.body, "spec") for row in objects.of(*_DEFINITION)]
    defined = {(str(dig(spec, "group")), str(dig(spec, "names", "kind"))) for spec in specs}
    for manifest in objects.manifests:
        table = custom(manifest.api, manifest.kind)
        if table and table.rules and (group(manifest), manifest.kind) not in defined:
            subject = Subject(ObjectSet([manifest], is_complete=False), "", as_written=True)
            with suppress(ValueError):  # of keys that are no strings
                if all(error.kind is ErrorKind.QUANTITY for _, error in subject.schema_errors):
                    for finding in broken_rules(manifest, table.schema, table.rules, {}, Counter()):
                        yield replace(finding, needs="complete template")
