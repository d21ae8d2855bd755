"""The compiler on one page: read, parse, resolve, check, emit and verify one spec.

What is left, printing and writing, is done for all specs of a run together: pipeline.py.
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
from gpuc.diagnostics.suppressions import accepted
from gpuc.emit import emit_by_component
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.model import Cluster, resolve
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import emitted
from gpuc.pipeline.removal import staying, unprepared
from gpuc.policy.library import Policy
from gpuc.policy.own import FOLDER, own_policies
from gpuc.rules import check
from gpuc.source import Source, read
from gpuc.spec.parse import parse
from gpuc.verify import constraints, verify
from gpuc.write.lockfile import Lock

UNSYNCED = ("workloads/",)
"""Folders of a cluster's tree that Argo CD never applies: templates that users copy."""


@dataclass(frozen=True)
class CompiledSpec:
    """What one spec compiles to."""

    source: Source
    cluster: Cluster
    artifacts: tuple[Artifact, ...]
    findings: tuple[Finding, ...]
    """Warnings and information; errors stop the compile."""
    staying: tuple[str, ...] = ()
    """What the spec marks as leaving and was compiled as though it stayed: "pools/dev-l4"."""

    @cached_property
    def synced(self) -> tuple[Manifest, ...]:
        """The objects that Argo CD applies, in the order of the emitters."""
        tree = self.cluster.out("")
        outside = tuple(self.cluster.out(folder) for folder in UNSYNCED)
        return tuple(
            each
            for each in self.artifacts
            if isinstance(each, Manifest) and each.file.startswith(tree) and not each.file.startswith(outside)
        )

    @cached_property
    def workloads(self) -> tuple[Manifest, ...]:
        """The templates that users copy."""
        outside = tuple(self.cluster.out(folder) for folder in UNSYNCED)
        return tuple(each for each in self.artifacts if isinstance(each, Manifest) and each.file.startswith(outside))

    @cached_property
    def objects(self) -> tuple[Manifest, ...]:
        """All objects, the templates that users copy among them."""
        return tuple(each for each in self.artifacts if isinstance(each, Manifest))

    @cached_property
    def charts(self) -> Mapping[str, Mapping[str, Any]]:
        """The Helm values of every chart of the release set."""
        return {each.component: each.body for each in self.artifacts if isinstance(each, Values)}

    def values(self, component: str) -> Mapping[str, Any]:
        """The Helm values of a chart of the release set."""
        return self.charts[component]


def compiled_spec(root: Path, file: str, *, as_staying: bool = False) -> CompiledSpec:
    """One spec file compiled in memory; nothing is written.

    Args:
        as_staying: whether what the spec marks as leaving is compiled as though it stayed.

    Raises:
        StageError: when the spec has errors.
        OutputError: when the output is wrong, and no line of the spec can mend it.
    """
    source = read(root, file)
    tree, kept = staying(source.tree) if as_staying else (source.tree, ())
    return replace(compile_source(replace(source, tree=tree), own_policies(root)), staying=kept)


def compile_source(
    source: Source,
    policies: Mapping[str, Policy],
    before: Lock | None = None,
    send: Callable[[Sequence[Artifact]], None] = lambda part: None,
) -> CompiledSpec:
    """One source through every stage; each stage reports all of its findings.

    Args:
        policies: the fleet's own policies, by name.
        before: the index of what the spec compiled to until now, against which removals are checked.
        send: takes what each emitter made, so that printing and verifying run side by side.

    Raises:
        StageError: when a stage finds errors; later stages then do not run.
        OutputError: when the output is wrong, and no line of the spec can mend it.
    """
    cluster = resolve(parse(source), source.file, load(), policies)
    removals = unprepared(cluster, before) if before else []
    reported = [*source.remarks, *check(cluster), *removals]
    findings = accepted(reported, source.tree)
    if any(finding.is_error for finding in findings):
        raise StageError(findings)
    artifacts: list[Artifact] = []
    for part in emit_by_component(cluster):
        send(part)
        artifacts += part
    verified = verify(artifacts, cluster.spec.kubernetes, cluster.components)
    ours = [finding.to_finding() for finding in verified if _own_policy(finding, policies) is None]
    of_policies = _of_policies(verified, artifacts, policies)
    if any(finding.is_error and finding not in findings for finding in reported):
        of_policies += ours  # the spec accepts an error: what follows from it is no bug
    elif ours:
        raise OutputError(ours)
    findings = accepted([*reported, *of_policies], source.tree)
    if any(finding.is_error for finding in findings):
        raise StageError(findings)
    return CompiledSpec(source, cluster, tuple(artifacts), tuple(findings))


def _of_policies(
    findings: Sequence[ObjectFinding], artifacts: Sequence[Artifact], policies: Mapping[str, Policy]
) -> list[Finding]:
    """What is wrong with objects of the fleet's own policies, at the files of these."""
    if not policies:
        return []
    named = (
        (finding, _own_policy(finding, policies)) for finding in (*findings, *constraints.findings(emitted(artifacts)))
    )
    return [
        replace(finding.to_finding(), mark=Mark(f"{FOLDER}/{name}/policy.yaml", 1, 1))
        for finding, name in named
        if name
    ]


def _own_policy(finding: ObjectFinding, policies: Mapping[str, Policy]) -> str | None:
    """The policy of the fleet whose template or constraint has the finding."""
    manifest = finding.manifest
    is_template = manifest.kind == "ConstraintTemplate"
    kind = manifest.name if is_template else manifest.kind
    found = (name for name, policy in policies.items() if kind == (policy.kind.lower() if is_template else policy.kind))
    return next(found, None)
