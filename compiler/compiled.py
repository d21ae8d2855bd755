"""A spec compiled in memory: the cluster, its objects, its values, its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from compiler.finding import Finding, Stop
from compiler.manifest import Artifact, Manifest, Values
from compiler.model import Cluster
from compiler.source import Source

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
    """Reads, resolves, checks and emits one spec; nothing is written.

    Args:
        as_staying: whether what the spec marks as leaving is compiled as though it stayed.

    Raises:
        Stop: when the spec has errors.
    """
    from compiler.accept import accepted
    from compiler.catalog import load
    from compiler.catalog.own_policies import own_policies
    from compiler.emit import emit
    from compiler.model import resolve
    from compiler.removal import staying
    from compiler.rules import check
    from compiler.source import read
    from compiler.spec.parse import parse
    from compiler.verify import verify

    source = read(root, file)
    tree, kept = staying(source.tree) if as_staying else (source.tree, ())
    source = replace(source, tree=tree)
    cluster = resolve(parse(source), source.file, load(), own_policies(root))
    findings = accepted([*source.remarks, *check(cluster)], source.tree)
    if any(finding.is_error for finding in findings):
        raise Stop(findings)
    artifacts = tuple(emit(cluster))
    judged = accepted(verify(artifacts, cluster.spec.kubernetes, cluster.components), source.tree, judged=True)
    return CompiledSpec(source, cluster, artifacts, (*findings, *judged), kept)
