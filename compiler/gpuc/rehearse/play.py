"""Plays scenes: those of an act at the same time, act by act, each compared with what the model expects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gpuc.rehearse.client import ApiError, WaitError
from gpuc.rehearse.lister import SharedRehearsal, shared
from gpuc.rehearse.outcome import Outcome, agrees
from gpuc.rehearse.programme import programme
from gpuc.rehearse.scenes import Scene
from gpuc.rehearse.session import Rehearsal

TOGETHER = 200
"""Scenes that wait at the same time; what they wait for is looked up once for all of them."""


@dataclass(frozen=True, slots=True)
class Played:
    """A scene, and what became of it."""

    scene: Scene
    seen: Outcome
    seconds: float

    @property
    def agrees(self) -> bool:
        """Whether the control plane did what the model expects."""
        return agrees(self.scene.expected, self.seen)


def play(rehearsal: Rehearsal, scenes: Iterable[Scene], progress: Callable[[Played], None]) -> list[Played]:
    """Plays all scenes and clears away what they made; progress hears of each as soon as it is over."""
    stage = shared(rehearsal)
    played: list[Played] = []
    with ThreadPoolExecutor(TOGETHER) as pool:
        for act in programme(rehearsal.cluster, scenes):
            played += pool.map(lambda scene: _played(stage, scene, progress), act)
            stage.clear(nodes=bool(_started(stage)))
    return played


def _played(stage: SharedRehearsal, scene: Scene, progress: Callable[[Played], None]) -> Played:
    started = time.monotonic()
    try:
        seen = scene.play(stage)
    except WaitError as error:
        seen = Outcome("unanswered", words=str(error))
    except ApiError as error:
        seen = Outcome("refused", by="API server", words=str(error))
    result = Played(scene, seen, time.monotonic() - started)
    progress(result)
    return result


def _started(stage: SharedRehearsal) -> set[str]:
    """Pools that have nodes which were started for work."""
    static = {pool.name for pool in stage.cluster.pools if pool.is_static}
    claims = stage.client.list_all("karpenter.sh/v1", "NodeClaim")
    return {str(each["metadata"]["labels"]["karpenter.sh/nodepool"]) for each in claims} - static
