"""What a rehearsal of one spec showed, each part at the line of the spec that it proves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpuc.diagnostics.finding import Mark
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.apply import Applied
from gpuc.rehearse.play import Played


@dataclass(frozen=True, slots=True)
class Trouble:
    """An object that the control plane did not take as it was written."""

    kind: Literal["refused", "sick", "restless", "differs"]
    """Not taken, not healthy, changed by a second apply, or stored as something else."""
    mark: Mark
    object: str
    """Kind, namespace and name."""
    words: str


@dataclass(frozen=True, slots=True)
class Tried:
    """A scene that was played, and its place."""

    mark: Mark
    played: Played


@dataclass(frozen=True)
class Result:
    """A whole rehearsal."""

    cluster: str
    file: str
    objects: int
    """How many were applied."""
    troubles: tuple[Trouble, ...]
    tried: tuple[Tried, ...]
    substitutions: tuple[str, ...]
    """What stood for something else, one sentence each."""
    unjudged: tuple[str, ...]
    """What no scene can say, one sentence each."""
    seconds: Mapping[str, float]
    """By step, in the order of the run."""
    memory_mib: int
    """What the programs held at the end."""
    kubeconfig: Path

    @property
    def differing(self) -> tuple[Tried, ...]:
        """Scenes that did not end as the model expects."""
        return tuple(each for each in self.tried if not each.played.agrees)

    @property
    def is_good(self) -> bool:
        return not self.troubles and not self.differing

    @property
    def refusals(self) -> int:
        """Scenes whose expectation is that somebody says no."""
        return sum(each.played.scene.is_refusal for each in self.tried)

    @property
    def distinct(self) -> int:
        """Scenes that differ in family, queue, pool or request."""
        scenes = (each.played.scene for each in self.tried)
        return len({(scene.family, scene.queue, scene.pool, scene.request or scene.name) for scene in scenes})


def troubles(spec: CompiledSpec, applied: Applied) -> tuple[Trouble, ...]:
    """Everything that applying the tree showed, in the order of the spec's lines."""
    found = [
        Trouble("refused", spec.source.locate(e.manifest.origin), str(e.manifest), str(e.error))
        for e in applied.refusals
    ]
    found += [Trouble("sick", spec.source.locate(e.manifest.origin), str(e.manifest), e.message) for e in applied.sick]
    words = "the second apply changed it"
    found += [Trouble("restless", spec.source.locate(e.origin), str(e), words) for e in applied.restless]
    found += [
        Trouble("differs", spec.source.locate(manifest.origin), str(manifest), str(difference))
        for manifest, difference in applied.differences
    ]
    return tuple(sorted(found, key=lambda each: (each.mark.file, each.mark.line, each.object)))


def tried(spec: CompiledSpec, played: list[Played]) -> tuple[Tried, ...]:
    """Scenes in the order of the spec's lines."""
    found = [Tried(spec.source.locate(each.scene.origin), each) for each in played]
    return tuple(sorted(found, key=lambda each: (each.mark.file, each.mark.line, each.played.scene.family)))
