"""The stages of the compile of one spec: read, parse, resolve, check, emit and verify.

pipeline.py runs these stages for each spec, then renders and writes the output of all specs.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuc import needs
from gpuc.catalog import Catalog, load
from gpuc.customize.causes import split_by_cause
from gpuc.customize.customizer import TEMPLATES, Customizer
from gpuc.diagnostics.finding import Finding, Mark, StageError
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.diagnostics.output_error import OutputError
from gpuc.diagnostics.suppressions import apply_acceptances
from gpuc.emit.emitters import artifacts_by_emitter
from gpuc.extra.files import ManifestFiles, read_files
from gpuc.extra.user_objects import UserObjects
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.model import Cluster, resolve
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import emitted
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.fleet_policies import FleetPolicies, fleet_policies
from gpuc.pipeline.other_clusters import OtherClusters
from gpuc.pipeline.rehearsed_spec import without_leaving, without_namespaces
from gpuc.pipeline.removal import removal_findings
from gpuc.rules import check
from gpuc.source import Source, read
from gpuc.spec.parse import parse
from gpuc.verify import verify
from gpuc.write.lockfile import Lock

NO_FILES = ManifestFiles()
"""A cluster without manifests of users."""


class CompiledSpec(Struct, frozen=True, eq=False, dict=True):
    """The result of compiling a spec: the model of the cluster, and the output before it is written."""

    source: Source
    cluster: Cluster
    artifacts: tuple[Artifact, ...]
    findings: tuple[Finding, ...]
    """Warnings and infos; errors stop the compile."""
    staying: tuple[str, ...] = ()
    """Elements whose `leaving: true` or `hold: true` was ignored, for example "pools/dev-l4"."""
    moved: tuple[str, ...] = ()
    """Components whose namespace in the spec was ignored."""

    @cached_property
    def synced(self) -> tuple[Manifest, ...]:
        """The objects that Argo CD applies, in the order of the emitters."""
        below = (manifest for manifest in self.objects if manifest.file.startswith(self.cluster.out("")))
        return tuple(manifest for manifest in below if not manifest.file.startswith(self.cluster.out(TEMPLATES)))

    @cached_property
    def workloads(self) -> tuple[Manifest, ...]:
        """The objects in workloads/ of the output: templates that users copy."""
        return tuple(manifest for manifest in self.objects if manifest.file.startswith(self.cluster.out(TEMPLATES)))

    @cached_property
    def objects(self) -> tuple[Manifest, ...]:
        """All Kubernetes objects of the output, including the templates in workloads/."""
        return tuple(artifact for artifact in self.artifacts if isinstance(artifact, Manifest))

    @cached_property
    def charts(self) -> Mapping[str, Mapping[str, Any]]:
        """The Helm values of each chart that gpuc configures, by component."""
        return {artifact.component: artifact.body for artifact in self.artifacts if isinstance(artifact, Values)}

    def values(self, component: str) -> Mapping[str, Any]:
        """Returns the Helm values of a component."""
        return self.charts[component]

    def locate(self, manifest: Manifest, path: SpecPath = ()) -> Mark:
        """Returns the position in the spec that caused gpuc to emit an object.

        For an object that a user wrote, returns the position of a path of the object in the user's file.
        """
        if manifest.written is not None:
            return manifest.written.locate(path, False)
        return self.source.locate(manifest.origin)


def compiled_spec(root: Path, file: str, *, for_rehearsal: bool = False) -> CompiledSpec:
    """Compiles a spec file in memory. No file is written.

    Args:
        for_rehearsal: whether to ignore `leaving: true` and `hold: true`, so that the elements get new nodes and
            workloads. Also ignores the namespaces of components: a rehearsal uses their usual namespaces.

    Raises:
        StageError: when the spec, or a policy or the catalog of the fleet, has errors.
        OutputError: when a bug of gpuc makes the output wrong.
    """
    source = read(root, file)
    policies, files, catalog = fleet_policies(root), read_files(root, file), fleet_catalog(root).catalog
    if not for_rehearsal:
        return compile_source(source, policies, files=files, catalog=catalog)
    tree, staying = without_leaving(source.tree)
    tree, moved = without_namespaces(tree)
    compiled = compile_source(replace(source, tree=tree), policies, files=files, catalog=catalog)
    return replace(compiled, staying=staying, moved=moved)


def compile_source(
    source: Source,
    fleet: FleetPolicies,
    before: Lock | None = None,
    send: Callable[[Sequence[Artifact]], None] = lambda part: None,
    files: ManifestFiles = NO_FILES,
    other_clusters: OtherClusters | None = None,
    catalog: Catalog | None = None,
) -> CompiledSpec:
    """Runs all stages of the compile for a spec that was read. Each stage reports all of its findings.

    Args:
        fleet: the policies of the fleet.
        before: the gpuc.lock of the present output, to check removed elements; None if there is no output.
        send: receives the artifacts of one emitter at a time, so that Node.js renders YAML while Python verifies.
        files: the manifests that users wrote.
        other_clusters: the clusters to compare the spec with; None to compare with no cluster.
        catalog: the catalog of the fleet; None if the fleet has no catalog of its own.

    Raises:
        StageError: when a stage finds errors. The stages before emission report all independent findings.
        OutputError: when a bug of gpuc makes the output wrong.
    """
    cluster, of_spec = _checked_spec(source, fleet, before, files, other_clusters, catalog or load())
    written = UserObjects(cluster, files)
    cluster = replace(cluster, user_manifests=written.manifests, object_owners=written.owners)
    reported = [*of_spec, *needs.contradictions(cluster), *written.remarks]
    findings = _accepted(reported, source, written.errors)
    accepts_errors = any(finding.is_error and finding not in findings for finding in reported)
    customizer = Customizer(cluster)
    emitted_artifacts, artifacts = _output(cluster, customizer, written, send)
    caused, others = split_by_cause(cluster, emitted_artifacts, artifacts, partial(_verified, cluster))
    bugs = [finding.to_finding() for finding in others if fleet.mark(finding) is None]
    reported += [*customizer.findings(artifacts), *caused, *_policy_findings(others, artifacts, fleet)]
    if accepts_errors:
        reported += bugs  # the spec accepts an error, and the error may be the cause of these findings
    elif bugs:
        raise OutputError(bugs)
    _accepted(reported, source, written.duplicates(artifacts))
    reported += [*written.findings(artifacts), *_unnamed(cluster, artifacts, written)]
    findings = _accepted(reported, source)
    if customizer.entries:  # only a customization can cause the mistakes that only `gpuc lint` searches for
        reported += _linted(cluster, emitted_artifacts, artifacts)
        findings = _accepted(list(dict.fromkeys(reported)), source)
    return CompiledSpec(source, cluster, (*artifacts, *written.manifests), tuple(findings))


def _checked_spec(
    source: Source,
    fleet: FleetPolicies,
    before: Lock | None,
    files: ManifestFiles,
    other_clusters: OtherClusters | None,
    catalog: Catalog,
) -> tuple[Cluster, list[Finding]]:
    """Returns the cluster of a spec, and the findings about the spec.

    Raises:
        StageError: when the YAML, a key, a type or a name is wrong.
    """
    try:
        if any(finding.is_error for finding in source.remarks):
            raise StageError(source.remarks)
        spec = parse(source)
        compared = other_clusters.findings(spec, source) if other_clusters else []
        cluster = resolve(spec, source.file, catalog, fleet.policies)
    except StageError:
        from gpuc.pipeline.independent_findings import Inputs, independent_findings

        inputs = Inputs(fleet, catalog, before, files, other_clusters)
        raise StageError(independent_findings(source, inputs)) from None
    return cluster, [*source.remarks, *compared, *check(cluster), *removal_findings(cluster, before)]


def _accepted(reported: Sequence[Finding], source: Source, refused: Sequence[Finding] = ()) -> list[Finding]:
    """Returns the findings that the spec does not accept.

    Args:
        refused: findings that no spec can accept.

    Raises:
        StageError: when one of these findings is an error.
    """
    findings = [*apply_acceptances(reported, source.tree), *refused]
    if any(finding.is_error for finding in findings):
        raise StageError(findings)
    return findings


def _output(
    cluster: Cluster, customizer: Customizer, written: UserObjects, send: Callable[[Sequence[Artifact]], None]
) -> tuple[list[Artifact], list[Artifact]]:
    """Returns the artifacts of a cluster without and with customizations, without the objects that users wrote."""
    plain: list[Artifact] = []
    artifacts: list[Artifact] = []
    for part in artifacts_by_emitter(cluster):
        customized = customizer.apply(part)
        send(customized)
        plain += part
        artifacts += customized
    if written.manifests:
        applications = written.applications()
        customized = customizer.apply(applications)
        send([*customized, *written.manifests])
        plain += applications
        artifacts += customized
    return plain, artifacts


def _verified(cluster: Cluster, artifacts: Sequence[Artifact]) -> list[ObjectFinding]:
    """Returns the findings of all checks of the output."""
    found = verify(artifacts, cluster.spec.kubernetes, cluster.components)
    return [*found, *needs.findings(cluster, artifacts)]


def _unnamed(cluster: Cluster, artifacts: Sequence[Artifact], written: UserObjects) -> list[Finding]:
    """Returns the findings about things outside of the output that the objects of users need."""
    if not written.manifests:
        return []
    found = needs.findings(cluster, [*artifacts, *written.manifests])
    return [finding.to_finding() for finding in found if finding.manifest.written is not None]


def _linted(cluster: Cluster, plain: Sequence[Artifact], artifacts: Sequence[Artifact]) -> list[Finding]:
    """Returns the findings of the checks of `gpuc lint` that the customizations cause.

    Args:
        plain: the artifacts without customizations.
        artifacts: the artifacts with customizations.
    """
    from gpuc.lint.checks import changed_kinds, findings

    changed = changed_kinds(plain, artifacts)

    def lint(output: Sequence[Artifact]) -> list[ObjectFinding]:
        return list(findings(emitted(output, cluster.catalog), changed))

    return list(split_by_cause(cluster, plain, artifacts, lint)[0])


def _policy_findings(
    verified: Sequence[ObjectFinding], artifacts: Sequence[Artifact], fleet: FleetPolicies
) -> list[Finding]:
    """Returns the findings about templates and constraints of the fleet's own policies, at the policy.yaml files."""
    if not fleet.own:
        return []
    from gpuc.lint.checks.constraints import constraints

    return [
        replace(finding.to_finding(), mark=mark)
        for finding in (*verified, *constraints.findings(emitted(artifacts)))
        if (mark := fleet.mark(finding))
    ]
