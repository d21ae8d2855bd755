"""All stages that compile one spec: read, parse, resolve, check, emit and verify.

pipeline.py runs these stages for each spec, then renders and writes the output of all specs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gpuc.catalog import load
from gpuc.diagnostics.finding import Finding, Mark, StageError
from gpuc.diagnostics.output_error import OutputError
from gpuc.diagnostics.suppressions import apply_acceptances
from gpuc.emit import artifacts_by_emitter
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.model import Cluster, resolve
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import emitted
from gpuc.pipeline.removal import removal_findings, without_leaving
from gpuc.policy.library import Policy
from gpuc.policy.own import FOLDER, own_policies
from gpuc.rules import check
from gpuc.source import Source, read
from gpuc.spec.parse import parse
from gpuc.verify import constraints, verify
from gpuc.write.lockfile import Lock

UNSYNCED = ("workloads/",)
"""Folders below out/<cluster>/ that Argo CD does not sync: workload templates, which users copy."""


@dataclass(frozen=True)
class CompiledSpec:
    """The result of compiling a spec."""

    source: Source
    cluster: Cluster
    artifacts: tuple[Artifact, ...]
    findings: tuple[Finding, ...]
    """Warnings and infos; errors stop the compile."""
    staying: tuple[str, ...] = ()
    """Elements whose `leaving: true` or `hold: true` was ignored, for example "pools/dev-l4"."""

    @cached_property
    def synced(self) -> tuple[Manifest, ...]:
        """The manifests that Argo CD applies, in the order of the emitters."""
        output = self.cluster.out("")
        unsynced = self._unsynced_folders
        return tuple(
            manifest
            for manifest in self.objects
            if manifest.file.startswith(output) and not manifest.file.startswith(unsynced)
        )

    @cached_property
    def workloads(self) -> tuple[Manifest, ...]:
        """The workload templates that users copy."""
        return tuple(manifest for manifest in self.objects if manifest.file.startswith(self._unsynced_folders))

    @cached_property
    def objects(self) -> tuple[Manifest, ...]:
        """All manifests, including the workload templates."""
        return tuple(artifact for artifact in self.artifacts if isinstance(artifact, Manifest))

    @cached_property
    def charts(self) -> Mapping[str, Mapping[str, Any]]:
        """The Helm values of each chart in the release set, by component."""
        return {artifact.component: artifact.body for artifact in self.artifacts if isinstance(artifact, Values)}

    def values(self, component: str) -> Mapping[str, Any]:
        """Returns the Helm values of a component of the release set."""
        return self.charts[component]

    @property
    def _unsynced_folders(self) -> tuple[str, ...]:
        return tuple(self.cluster.out(folder) for folder in UNSYNCED)


def compiled_spec(root: Path, file: str, *, ignore_leaving: bool = False) -> CompiledSpec:
    """Compiles a spec file in memory, without writing a file.

    Args:
        ignore_leaving: whether to ignore `leaving: true` and `hold: true`, so that the elements get new nodes and
            workloads.

    Raises:
        StageError: when the spec has errors.
        OutputError: when a bug of gpuc makes the output wrong.
    """
    source = read(root, file)
    merged_spec, ignored = without_leaving(source.tree) if ignore_leaving else (source.tree, ())
    return replace(compile_source(replace(source, tree=merged_spec), own_policies(root)), staying=ignored)


def compile_source(
    source: Source,
    policies: Mapping[str, Policy],
    before: Lock | None = None,
    send: Callable[[Sequence[Artifact]], None] = lambda part: None,
) -> CompiledSpec:
    """Runs all stages for the source of a spec. Each stage reports all of its findings.

    Args:
        policies: the policies of the fleet, by name.
        before: the gpuc.lock of the present output, to check removed elements; None if there is no output.
        send: receives the artifacts of one emitter at a time, before gpuc verifies them. Node.js can then render YAML
            while Python verifies.

    Raises:
        StageError: when a stage finds errors. Later stages do not run.
        OutputError: when a bug of gpuc makes the output wrong.
    """
    cluster = resolve(parse(source), source.file, load(), policies)
    removals = removal_findings(cluster, before) if before else []
    reported = [*source.remarks, *check(cluster), *removals]
    findings = apply_acceptances(reported, source.tree)
    if any(finding.is_error for finding in findings):
        raise StageError(findings)
    artifacts: list[Artifact] = []
    for part in artifacts_by_emitter(cluster):
        send(part)
        artifacts += part
    verified = verify(artifacts, cluster.spec.kubernetes, cluster.components)
    bugs = [finding.to_finding() for finding in verified if _fleet_policy(finding, policies) is None]
    output_findings = _policy_findings(verified, artifacts, policies)
    if any(finding.is_error and finding not in findings for finding in reported):
        output_findings += bugs  # the spec accepts an error, and the error may be the cause of these findings
    elif bugs:
        raise OutputError(bugs)
    findings = apply_acceptances([*reported, *output_findings], source.tree)
    if any(finding.is_error for finding in findings):
        raise StageError(findings)
    return CompiledSpec(source, cluster, tuple(artifacts), tuple(findings))


def _policy_findings(
    verified: Sequence[ObjectFinding], artifacts: Sequence[Artifact], policies: Mapping[str, Policy]
) -> list[Finding]:
    """Returns the findings about templates and constraints of the fleet's own policies, at the policy.yaml files."""
    if not policies:
        return []
    return [
        replace(finding.to_finding(), mark=Mark(f"{FOLDER}/{name}/policy.yaml", 1, 1))
        for finding in (*verified, *constraints.findings(emitted(artifacts)))
        if (name := _fleet_policy(finding, policies))
    ]


def _fleet_policy(finding: ObjectFinding, policies: Mapping[str, Policy]) -> str | None:
    """Returns the name of the fleet's policy whose template or constraint has the finding; None for other objects."""
    manifest = finding.manifest
    is_template = manifest.kind == "ConstraintTemplate"
    kind = manifest.name if is_template else manifest.kind
    names = (name for name, policy in policies.items() if kind == (policy.kind.lower() if is_template else policy.kind))
    return next(names, None)
