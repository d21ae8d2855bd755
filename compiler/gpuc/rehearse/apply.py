"""Applies all objects of a cluster twice, in the order of Argo CD, and compares written and stored objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gpuc.kubernetes.quantity import quantity
from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.client import ApiError, Client, Object
from gpuc.rehearse.health import UnhealthyObject, wait_healthy
from gpuc.rehearse.read_back import FieldDifference, differences
from gpuc.rehearse.substitute import simulated_document
from gpuc.rehearse.waves import Step, namespaces, steps

THREADS = 4
HEALTH_SECONDS = 60
ARGO_CD = "argocd"
"""Field manager of the namespaces that Argo CD creates, and of the objects of the simulated cloud provider."""
ATTEMPTS = 3
"""Number of attempts to apply an object a second time without a change.

A controller may change the object between the read and the second apply. An object that changes in every attempt is
unstable.
"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An object that the API server refused."""

    manifest: Manifest
    error: ApiError


@dataclass
class ApplyResult:
    """The result of applying the objects of a cluster twice."""

    objects: int = 0
    """Number of objects that the API server accepted."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration by step: apply (including the waits for health), second apply, read back."""
    refusals: list[Refusal] = field(default_factory=list)
    unhealthy: list[UnhealthyObject] = field(default_factory=list)
    unstable: list[Manifest] = field(default_factory=list)
    """Objects that every attempt of the second apply changed."""
    differences: list[tuple[Manifest, FieldDifference]] = field(default_factory=list)
    """Values that the API server changed or dropped, and defaults from the API server in lists of custom resources."""


def apply_objects(
    client: Client,
    synced: Sequence[Manifest],
    replacements: Iterable[Object],
    progress: Callable[[str], None],
    health_s: float = HEALTH_SECONDS,
) -> ApplyResult:
    """Applies all objects in the order of their sync waves, applies them again, and reads them back.

    Args:
        synced: the objects that Argo CD applies.
        replacements: objects of the simulated cloud provider, applied before the first wave.
        progress: receives a text at the start of each wave.
        health_s: seconds to wait until a wave is healthy; then the next wave starts anyway.

    Raises:
        ApiError: if the API server refuses a namespace or a replacement.
    """
    result = ApplyResult()
    sync_steps = steps(synced)
    for document in (*namespaces(synced), *replacements):
        client.apply(document, manager=ARGO_CD)
    with ThreadPoolExecutor(THREADS) as pool:
        _measure(result, "apply", lambda: _apply_all(client, sync_steps, result, pool, progress, health_s))
        refused = {id(refusal.manifest) for refusal in result.refusals}
        accepted = [manifest for manifest in synced if id(manifest) not in refused]
        _measure(result, "second apply", lambda: _apply_again(client, accepted, result, pool))
        _measure(result, "read back", lambda: _read_back(client, accepted, result, pool))
    return result


def _apply_all(
    client: Client,
    sync_steps: Iterable[Step],
    result: ApplyResult,
    pool: ThreadPoolExecutor,
    progress: Callable[[str], None],
    health_s: float,
) -> None:
    for step in sync_steps:
        progress(f"{step.application}, wave {step.wave}: {len(step.manifests)} objects")
        refusals = list(pool.map(lambda manifest: _apply(client, manifest), step.manifests))
        refused = [refusal for refusal in refusals if refusal is not None]
        result.objects += len(step.manifests) - len(refused)
        result.refusals += refused
        refused_ids = {id(refusal.manifest) for refusal in refused}
        accepted = [manifest for manifest in step.manifests if id(manifest) not in refused_ids]
        result.unhealthy += wait_healthy(client, accepted, health_s)


def _apply(client: Client, manifest: Manifest) -> Refusal | None:
    try:
        client.apply(simulated_document(manifest))
    except ApiError as error:
        return Refusal(manifest, error)
    return None


def _apply_again(client: Client, accepted: Iterable[Manifest], result: ApplyResult, pool: ThreadPoolExecutor) -> None:
    manifests = list(accepted)
    unchanged = pool.map(lambda manifest: _stays_unchanged(client, manifest), manifests)
    for manifest, is_unchanged in zip(manifests, unchanged, strict=True):
        if not is_unchanged:
            result.unstable.append(manifest)


def _stays_unchanged(client: Client, manifest: Manifest) -> bool:
    document = simulated_document(manifest)
    for _ in range(ATTEMPTS):
        before = client.get(manifest.api, manifest.kind, manifest.name, manifest.namespace)["metadata"]
        after = client.apply(document)["metadata"]
        if before["resourceVersion"] == after["resourceVersion"]:
            return True
    return False


def _read_back(client: Client, accepted: Iterable[Manifest], result: ApplyResult, pool: ThreadPoolExecutor) -> None:
    manifests = list(accepted)

    def read(manifest: Manifest) -> Object:
        return client.get(manifest.api, manifest.kind, manifest.name, manifest.namespace)

    for manifest, stored in zip(manifests, pool.map(read, manifests), strict=True):
        for difference in differences(simulated_document(manifest), stored):
            if not _is_harmless(difference, manifest):
                result.differences.append((manifest, difference))


def _is_harmless(difference: FieldDifference, manifest: Manifest) -> bool:
    """Returns whether Argo CD does not see a difference.

    Argo CD knows the defaults and the quantities of built-in kinds. gpuc writes quantities in their canonical form, but
    users may write them in another form.

    Source: argoproj/argo-cd v3.5.1 gitops-engine/pkg/diff/diff.go (remarshal)
    """
    if _is_custom(manifest.api):
        return False
    if difference.kind == "defaulted":
        return True
    is_same = (number := quantity(difference.written)) is not None and number == quantity(difference.stored)
    return manifest.written is not None and is_same


def _is_custom(api: str) -> bool:
    """Returns whether the API group has custom resources, whose defaults Argo CD does not know."""
    group = api.rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io")


def _measure(result: ApplyResult, step: str, action: Callable[[], None]) -> None:
    started = time.monotonic()
    action()
    result.seconds[step] = time.monotonic() - started
