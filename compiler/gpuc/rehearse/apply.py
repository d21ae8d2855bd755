"""Applies all objects of a cluster twice, in the order of Argo CD, and compares written and stored objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from gpuc.kubernetes.api_groups import is_custom
from gpuc.kubernetes.quantity import quantity
from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.client import ApiError, Client, Object
from gpuc.rehearse.health import UnhealthyObject, wait_healthy
from gpuc.rehearse.read_back import FieldDifference, differences
from gpuc.rehearse.substitute import simulated_document
from gpuc.rehearse.waves import namespaces, steps

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

    def __str__(self) -> str:
        return f"{self.manifest}: {self.error}"


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
    with _measured(result, "apply"):
        for accepted, refusals, unhealthy in apply_waves(client, synced, replacements, progress, health_s):
            result.objects += len(accepted)
            result.refusals += refusals
            result.unhealthy += unhealthy
    refused = {id(refusal.manifest) for refusal in result.refusals}
    stored = [manifest for manifest in synced if id(manifest) not in refused]
    with ThreadPoolExecutor(THREADS) as pool:
        with _measured(result, "second apply"):
            unchanged = pool.map(partial(_stays_unchanged, client), stored)
            result.unstable += [manifest for manifest, same in zip(stored, unchanged, strict=True) if not same]
        with _measured(result, "read back"):
            for manifest, found in zip(stored, pool.map(partial(_differences, client), stored), strict=True):
                result.differences += [(manifest, difference) for difference in found]
    return result


def apply_waves(
    client: Client,
    synced: Sequence[Manifest],
    replacements: Iterable[Object],
    progress: Callable[[str], None],
    health_s: float = HEALTH_SECONDS,
) -> Iterator[tuple[list[Manifest], list[Refusal], list[UnhealthyObject]]]:
    """Applies all objects once; yields the accepted, the refused and the unhealthy objects of each wave.

    The arguments and the errors are those of `apply_objects`.
    """
    sync_steps = steps(synced)
    for document in (*namespaces(synced), *replacements):
        client.apply(document, manager=ARGO_CD)
    with ThreadPoolExecutor(THREADS) as pool:
        for step in sync_steps:
            progress(f"{step.application}, wave {step.wave}: {len(step.manifests)} objects")
            refusals = list(filter(None, pool.map(partial(apply_object, client), step.manifests)))
            refused = {id(refusal.manifest) for refusal in refusals}
            accepted = [manifest for manifest in step.manifests if id(manifest) not in refused]
            yield accepted, refusals, wait_healthy(client, accepted, health_s)


def apply_object(client: Client, manifest: Manifest) -> Refusal | None:
    """Applies one object, and returns the refusal of the API server; None if it accepts the object."""
    try:
        client.apply(simulated_document(manifest))
    except ApiError as error:
        return Refusal(manifest, error)
    return None


def _stays_unchanged(client: Client, manifest: Manifest) -> bool:
    document = simulated_document(manifest)
    for _ in range(ATTEMPTS):
        before = client.get(manifest.api, manifest.kind, manifest.name, manifest.namespace)["metadata"]
        after = client.apply(document)["metadata"]
        if before["resourceVersion"] == after["resourceVersion"]:
            return True
    return False


def _differences(client: Client, manifest: Manifest) -> list[FieldDifference]:
    stored = client.get(manifest.api, manifest.kind, manifest.name, manifest.namespace)
    found = differences(simulated_document(manifest), stored)
    return [difference for difference in found if not _is_harmless(difference, manifest)]


def _is_harmless(difference: FieldDifference, manifest: Manifest) -> bool:
    """Returns whether Argo CD does not see a difference.

    Argo CD knows the defaults and the quantities of built-in kinds. gpuc writes quantities in their canonical form, but
    users may write them in another form.

    Source: argoproj/argo-cd v3.5.1 gitops-engine/pkg/diff/diff.go (remarshal)
    """
    if is_custom(manifest.api.rpartition("/")[0]):  # Argo CD does not know the defaults of custom resources
        return False
    if difference.kind == "defaulted":
        return True
    is_same = (number := quantity(difference.written)) is not None and number == quantity(difference.stored)
    return manifest.written is not None and is_same


@contextmanager
def _measured(result: ApplyResult, step: str) -> Iterator[None]:
    """Records the duration of the `with` block."""
    started = time.monotonic()
    yield
    result.seconds[step] = time.monotonic() - started
