"""Checks the objects that users write together with the objects of gpuc.

The checks are the checks of `gpuc lint`. A finding about an object of gpuc is reported only if the objects of users
cause the finding: the same check of gpuc's objects alone does not give the finding.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from gpuc.catalog import Catalog
from gpuc.cluster.application import application_in, is_application
from gpuc.diagnostics.contract import Needs
from gpuc.diagnostics.finding import Finding, rule_table
from gpuc.extra.objects import at_object
from gpuc.lint.checks import ObjectCheck, checks
from gpuc.lint.severity import severity
from gpuc.manifest.manifest import Artifact, Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, emitted, group
from gpuc.objects.other_policies import can_allow, other_policies, policy_generators
from gpuc.verify.fields.schema import QUANTITY_NOT_CANONICAL, schema_findings, unknown_kind

rule_of = rule_table(__file__)
TWICE = rule_of("MAN009")
NO_SCHEMA = rule_of("MAN010")
NOT_EVALUATED = rule_of("MAN011")
_LESS_CERTAIN = ("REF021", "REF024", "REF085")
"""Rules about labels and taints of nodes, which tell less than REF086 about the same object."""
_SECONDARY_NETWORKS = ("NetworkAttachmentDefinition", "UserDefinedNetwork", "ClusterUserDefinedNetwork")


def duplicates(artifacts: Iterable[Artifact], manifests: Iterable[Manifest]) -> Iterator[Finding]:
    """Yields a finding for each object of a user that gpuc or an Application creates too, or that two files contain.

    Args:
        artifacts: the artifacts of gpuc.
        manifests: the objects of users.
    """
    first: dict[tuple[str, str, str, str], str] = {}
    for artifact in artifacts:
        if isinstance(artifact, Manifest):
            first.setdefault(_key(artifact), f"{artifact.file} has this object")
            if created := is_application(artifact) and application_in(artifact).created_namespace:
                first.setdefault(("", "Namespace", "", created), f"Application {artifact.name} creates this namespace")
    for manifest in manifests:
        assert manifest.written is not None, "a user wrote the object"
        key, mark = _key(manifest), manifest.written.locate((), False)
        if key in first:
            yield at_object(TWICE, manifest, ("metadata", "name"), first[key])
        first.setdefault(key, f"{mark.file}, line {mark.line}, has this object")


def findings(
    artifacts: Sequence[Artifact], manifests: Sequence[Manifest], kubernetes: str, catalog: Catalog
) -> list[Finding]:
    """Returns findings about objects of users, and about objects of gpuc with which the objects of users conflict.

    Args:
        artifacts: the artifacts of gpuc.
        manifests: the objects of users.
        kubernetes: the minor version of the cluster.
        catalog: the catalog of the fleet.
    """
    own = emitted(artifacts, catalog)
    checked = [*_checks(own, manifests, is_complete=True), *_checks(own, manifests, is_complete=False)]
    without_node = {id(item.manifest) for item, _ in checked if item.rule.id == "REF086"}
    schemas = list(_schemas(artifacts, manifests, kubernetes))
    marks = {finding.mark for finding in schemas}
    return [
        *schemas,
        *_unevaluated(manifests),
        *(
            at
            for item, at in checked
            if (id(item.manifest) not in without_node or item.rule.id not in _LESS_CERTAIN)
            and not (item.yields and at.mark in marks)
        ),
    ]


def _schemas(artifacts: Sequence[Artifact], manifests: Sequence[Manifest], kubernetes: str) -> Iterator[Finding]:
    templates = (item for item in artifacts if isinstance(item, Manifest) and item.kind == "ConstraintTemplate")
    reported: set[tuple[str, str]] = set()
    for finding in schema_findings([*templates, *manifests], kubernetes, as_written=True):
        manifest = finding.manifest
        if manifest.written is None or finding.rule is QUANTITY_NOT_CANONICAL:
            continue
        if finding.rule is not unknown_kind.rule:
            yield finding.to_finding()
        elif (kind := (manifest.api, manifest.kind)) not in reported:
            reported.add(kind)
            yield at_object(NO_SCHEMA, manifest, ("kind",), f"gpuc has no schema of {manifest.api} {manifest.kind}")


def _unevaluated(manifests: Sequence[Manifest]) -> Iterator[Finding]:
    objects = ObjectSet(manifests, is_complete=True)
    for policy in other_policies(objects):
        if can_allow(policy):
            yield at_object(NOT_EVALUATED, policy, ("spec",), "the policy has rules that can allow connections")
    for generator in policy_generators(objects):
        yield at_object(NOT_EVALUATED, generator, ("spec",), "the object creates NetworkPolicies")
    for manifest in manifests:
        if manifest.kind in _SECONDARY_NETWORKS:
            message = "NetworkPolicies do not apply to the secondary network"
            yield at_object(NOT_EVALUATED, manifest, ("spec",), message)


def _checks(
    own: ObjectSet, manifests: Sequence[Manifest], *, is_complete: bool
) -> Iterator[tuple[ObjectFinding, Finding]]:
    """Yields the findings of checks. Checks that need all objects of a cluster run only if the input is complete.

    Secrets and the objects of charts are not in the output, so a reference to them is no mistake. Each finding is a
    pair: the finding about the object, and the finding with its position in a file.

    Args:
        own: the objects of gpuc.
    """
    alone = own.with_objects((), is_complete=is_complete)
    both = own.with_objects(manifests, is_complete=is_complete)
    found = checks(Needs.CLUSTER) if is_complete else checks(Needs.OBJECTS)
    known: set[tuple[object, ...]] | None = None
    for finding in _all(found, both):
        if finding.manifest.written is None:
            known = known if known is not None else {_identity(item) for item in _all(found, alone)}
            if _identity(finding) in known:
                continue
        located = finding.to_finding()
        yield finding, located if is_complete else replace(located, severity=severity(finding))


def _all(found: Iterable[ObjectCheck], objects: ObjectSet) -> Iterator[ObjectFinding]:
    return (finding for check in found for finding in check(objects))


def _identity(finding: ObjectFinding) -> tuple[object, ...]:
    return finding.rule.id, id(finding.manifest), finding.path, finding.message


def _key(manifest: Manifest) -> tuple[str, str, str, str]:
    return group(manifest), manifest.kind, manifest.namespace, manifest.name
