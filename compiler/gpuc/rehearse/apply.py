"""Applies a cluster's tree as Argo CD would, twice, and says what the server made of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.client import ApiError, Client, Object
from gpuc.rehearse.health import Sickness, wait_healthy
from gpuc.rehearse.read_back import Difference, differences
from gpuc.rehearse.substitute import rehearsed
from gpuc.rehearse.waves import Step, namespaces, steps

THREADS = 4
HEALTH_SECONDS = 60
ARGO_CD = "argocd"
ATTEMPTS = 3
"""A controller may write between our look and our second apply; one that always does is a quarrel."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An object that the server did not take."""

    manifest: Manifest
    error: ApiError


@dataclass
class Applied:
    """What applying a tree showed."""

    objects: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """Of the first apply with its waits, of the second, of the read-back."""
    refusals: list[Refusal] = field(default_factory=list)
    sick: list[Sickness] = field(default_factory=list)
    restless: list[Manifest] = field(default_factory=list)
    """Objects that a second apply changed."""
    differences: list[tuple[Manifest, Difference]] = field(default_factory=list)
    """What was changed, dropped, or defaulted inside lists of custom kinds."""


def apply_tree(
    client: Client,
    synced: Sequence[Manifest],
    stand_ins: Iterable[Object],
    progress: Callable[[str], None],
    health_s: float = HEALTH_SECONDS,
) -> Applied:
    """Applies everything in the order of the waves, again, and reads it back.

    health_s is how long a wave may take to become healthy before the next one comes anyway.
    """
    result = Applied()
    in_order = steps(synced)
    for document in (*namespaces(synced), *stand_ins):
        client.apply(document, manager=ARGO_CD)
    with ThreadPoolExecutor(THREADS) as pool:
        _timed(result, "apply", lambda: _first(client, in_order, result, pool, progress, health_s))
        refused = {id(refusal.manifest) for refusal in result.refusals}
        taken = [each for each in synced if id(each) not in refused]
        _timed(result, "second apply", lambda: _second(client, taken, result, pool))
        _timed(result, "read back", lambda: _read_back(client, taken, result, pool))
    return result


def _first(
    client: Client,
    in_order: Iterable[Step],
    result: Applied,
    pool: ThreadPoolExecutor,
    progress: Callable[[str], None],
    health_s: float,
) -> None:
    for step in in_order:
        progress(f"{step.application}, wave {step.wave}: {len(step.manifests)} objects")
        answers = list(pool.map(lambda each: _apply(client, each), step.manifests))
        refused = [answer for answer in answers if answer is not None]
        result.objects += len(answers) - len(refused)
        result.refusals += refused
        names = {id(refusal.manifest) for refusal in refused}
        result.sick += wait_healthy(client, [each for each in step.manifests if id(each) not in names], health_s)


def _apply(client: Client, manifest: Manifest) -> Refusal | None:
    try:
        client.apply(rehearsed(manifest))
    except ApiError as error:
        return Refusal(manifest, error)
    return None


def _second(client: Client, taken: Iterable[Manifest], result: Applied, pool: ThreadPoolExecutor) -> None:
    objects = list(taken)
    for manifest, still in zip(objects, pool.map(lambda each: _is_unchanged(client, each), objects), strict=True):
        if not still:
            result.restless.append(manifest)


def _is_unchanged(client: Client, manifest: Manifest) -> bool:
    document = rehearsed(manifest)
    for _ in range(ATTEMPTS):
        before = client.get(manifest.api, manifest.kind, manifest.name, manifest.namespace)["metadata"]
        after = client.apply(document)["metadata"]
        if before["resourceVersion"] == after["resourceVersion"]:
            return True
    return False


def _read_back(client: Client, taken: Iterable[Manifest], result: Applied, pool: ThreadPoolExecutor) -> None:
    objects = list(taken)

    def stored(each: Manifest) -> Object:
        return client.get(each.api, each.kind, each.name, each.namespace)

    for manifest, found in zip(objects, pool.map(stored, objects), strict=True):
        for difference in differences(rehearsed(manifest), found):
            if difference.kind != "defaulted" or _is_custom(manifest.api):
                result.differences.append((manifest, difference))


def _is_custom(api: str) -> bool:
    """Whether a kind is not Kubernetes' own: Argo CD knows the defaults of those."""
    group = api.rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io")


def _timed(result: Applied, step: str, action: Callable[[], None]) -> None:
    started = time.monotonic()
    action()
    result.seconds[step] = time.monotonic() - started
