"""The Applications of Argo CD that apply objects: by the folders of their files, in the order of their sync waves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.argocd import WAVE
from gpuc.manifest.manifest import Manifest
from gpuc.objects.application_sources import ARGO
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change
from gpuc.plan.state import State

GROUP = ARGO


@dataclass(frozen=True)
class Application:
    """An Application that applies a folder of objects or a chart."""

    manifest: Manifest
    folder: str
    """The folder with its objects; empty for a chart."""

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def wave(self) -> int:
        """The sync wave in the root Application."""
        return wave_of(self.manifest)

    @property
    def has_only_charts(self) -> bool:
        """Whether Argo CD reads nothing of the Application from Git, neither a folder nor values."""
        return all(dig(source, "chart") for _, source in _sources(self.manifest))

    @property
    def prunes(self) -> bool:
        """Whether Argo CD deletes objects that Git does not contain any more."""
        return dig(self.manifest.body, "spec", "syncPolicy", "automated", "prune") is True


def wave_of(manifest: Manifest) -> int:
    """Returns the sync wave of an object; 0 without a wave, and for text that is not a number.

    Source: argo-cd v3.5.1 gitops-engine/pkg/sync/syncwaves/waves.go
    """
    text = str(manifest.annotations.get(WAVE, "0"))
    return int(text) if re.fullmatch(r"[+-]?\d+", text, re.ASCII) else 0


@lru_cache(maxsize=4)
def applications(state: State) -> tuple[Application, ...]:
    """Returns the Applications of a state, in the order of their sync waves."""
    found = [Application(manifest, _folder(manifest)) for manifest in state.objects.of(GROUP, "Application")]
    return tuple(sorted(found, key=lambda one: (one.wave, one.name)))


def application_of(state: State, manifest: Manifest) -> Application | None:
    """Returns the Application that applies an object; None if no Application of the state does."""
    folder = f"/{manifest.file.rpartition('/')[0]}/"
    candidates = [one for one in applications(state) if one.folder and f"/{one.folder}/" in folder]
    return max(candidates, key=lambda one: len(one.folder), default=None)


def cluster_name(change: Change) -> str:
    """Returns the name of the cluster; empty if it is not known.

    Without a spec, it is the AppProject that all Applications begin with.
    """
    if name := change.after.name or change.before.name:
        return name
    found = [one.manifest for state in (change.after, change.before) for one in applications(state)]
    projects = {str(dig(one.body, "spec", "project")) for one in found}
    names = [one for one in projects if all(manifest.name.startswith(f"{one}-") for manifest in found)]
    return names[0] if len(names) == 1 else ""


def cluster_subject(change: Change) -> str:
    """Returns the cluster as the subject of an impact."""
    return f"cluster {cluster_name(change)}".rstrip()


def component_of(change: Change, application: str) -> str:
    """Returns the component of the Application of a chart."""
    return application.removeprefix(f"{cluster_name(change)}-")


class ChartSource(NamedTuple):
    """The chart of an Application. All texts are empty for an Application without a chart."""

    chart: str = ""
    version: str = ""
    repository: str = ""
    path: Path = ()
    """The path of the source in the Application."""


def chart_source(manifest: Manifest | None) -> ChartSource:
    """Returns the chart of an Application."""
    for path, source in _sources(manifest) if manifest else ():
        if chart := dig(source, "chart"):
            return ChartSource(str(chart), str(dig(source, "targetRevision")), str(dig(source, "repoURL")), path)
    return ChartSource()


def _sources(manifest: Manifest) -> list[tuple[Path, Any]]:
    """Returns the sources of an Application with their paths."""
    sources = dig(manifest.body, "spec", "sources")
    if isinstance(sources, list):
        return [(("spec", "sources", index), source) for index, source in enumerate(sources)]
    return [(("spec", "source"), dig(manifest.body, "spec", "source"))]


def changed_applications(change: Change) -> Iterator[Application]:
    """Yields the Applications of the state after that sync because of the change, in the order of their sync waves."""
    names: set[str] = set()
    for pair in change.all_pairs:
        if not pair.fields:
            continue
        if pair.manifest.kind == "Application":
            names.add(pair.name)
        state = change.before if pair.is_removed else change.after
        if found := application_of(state, pair.manifest):
            names.add(found.name)
    components = {pair.name for pair in change.helm_values() if pair.fields}
    for one in applications(change.after):
        if one.name in names or component_of(change, one.name) in components:
            yield one


def _folder(manifest: Manifest) -> str:
    """Returns the folder out/CLUSTER/... of an Application; empty for a chart."""
    path = dig(manifest.body, "spec", "source", "path")
    if not isinstance(path, str):
        return ""
    cluster = manifest.file.split("/")[1] if manifest.file.startswith("out/") else ""
    start = f"/{cluster}/"
    return f"out{start}{path.rpartition(start)[2]}" if cluster and start in path else path
