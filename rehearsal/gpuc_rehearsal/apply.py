"""Applies all objects of a cluster in Argo CD's order, applies them a second time, and compares the stored objects."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain, groupby
from typing import Any

from msgspec import Struct, field

from gpuc.cluster.application import application_in, applications, is_application, wave_of
from gpuc.kubernetes.api_groups import is_custom
from gpuc.kubernetes.quantity import quantity
from gpuc.manifest.manifest import Manifest
from gpuc_rehearsal.client import ApiError, Client, Object, address_of, new_object
from gpuc_rehearsal.health import ObjectProblem, wait_healthy
from gpuc_rehearsal.substitute import simulated_document

OUTPUT = "out/"
APPLICATIONS = "/apps/"
"""Folder of the output that contains the Applications."""
_EARLY_KINDS = ("Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "ConfigMap")
"""Kinds that Argo CD applies first in a wave, in this order."""
THREADS = 4
HEALTH_SECONDS = 60
ARGO_CD = "argocd"
"""Field manager of the namespaces that Argo CD creates, and of the objects of the simulated cloud provider."""
ATTEMPTS = 3
"""Number of attempts to apply an object a second time without a change.

A controller may change the object between the read and the second apply. An object that changes in every attempt is
unstable.
"""


class Step(Struct, frozen=True):
    """The objects that Argo CD applies in one sync wave of an Application, before it waits until they are healthy."""

    application: str
    wave: int
    manifests: tuple[Manifest, ...]


def steps(synced: Iterable[Manifest]) -> list[Step]:
    """Returns the objects in the order in which Argo CD applies them: each Application, then its objects, wave by wave.

    Raises:
        ValueError: if no Application or more than one Application syncs an object.
    """
    objects, ordered = tuple(synced), list[Step]()
    for application in sorted((manifest for manifest in objects if APPLICATIONS in manifest.file), key=wave_of):
        ordered.append(Step(application.name, wave_of(application), (application,)))
        sources = application_in(application).sources if is_application(application) else ()
        own = [manifest for manifest in objects if any(source.syncs(manifest.file) for source in sources)]
        own.sort(key=lambda manifest: (wave_of(manifest), (*_EARLY_KINDS, manifest.kind).index(manifest.kind)))
        waves = groupby(own, wave_of)
        ordered += [Step(application.name, wave, tuple(group)) for wave, group in waves]
    applied = [id(manifest) for step in ordered for manifest in step.manifests]
    if lost := sorted({manifest.file for manifest in objects if id(manifest) not in applied}):
        raise ValueError(f"no Application syncs {', '.join(lost)}")
    if len(applied) != len(set(applied)):
        raise ValueError("two Applications sync the same object")
    return ordered


def namespaces(synced: Iterable[Manifest]) -> Iterator[Object]:
    """Yields the namespaces of Applications, and those in which they install objects, with labels from Argo CD."""
    labels: dict[str, dict[str, str]] = {}
    for application in applications(synced):
        labels.setdefault(application.destination.namespace, {}).update(application.namespace_labels)
        labels.setdefault(application.manifest.namespace, {})
    for name, namespace_labels in sorted(labels.items()):
        yield new_object("v1", "Namespace", name, metadata={"labels": namespace_labels})


class FieldDifference(Struct, frozen=True):
    """A field whose value in the object that was written differs from the value that the API server stores."""

    path: str
    """Path of the field, for example spec.disruption.budgets[0].nodes."""
    kind: str
    """changed or dropped by the API server, or defaulted: set only in the stored object."""
    written: Any = None
    stored: Any = None

    def __str__(self) -> str:
        if self.kind == "defaulted":
            return f"{self.path} was not written and is {self.stored!r} by default"
        stored = "missing in the stored object" if self.kind == "dropped" else repr(self.stored)
        return f"{self.path} was written as {self.written!r} and is {stored}"


def differences(written: Object, stored: Object) -> list[FieldDifference]:
    """Returns the fields in which the stored object differs from the written object.

    A value that the API server adds as a default is a difference only inside of a list. Elsewhere, Argo CD compares
    only the written fields. But Argo CD compares the lists of custom resources completely.
    """
    return list(_compare("", written, stored, in_list=False))


def _compare(path: str, written: Any, stored: Any, in_list: bool) -> Iterator[FieldDifference]:
    if isinstance(written, dict) and isinstance(stored, dict):
        yield from _compare_maps(path, written, stored, in_list)
    elif isinstance(written, list) and isinstance(stored, list) and len(written) == len(stored):
        for index, (item, stored_item) in enumerate(zip(written, stored, strict=True)):
            yield from _compare(f"{path}[{index}]", item, stored_item, in_list=True)
    elif written != stored:
        yield FieldDifference(path, "changed", written, stored)


def _compare_maps(path: str, written: Object, stored: Object, in_list: bool) -> Iterator[FieldDifference]:
    for key, value in written.items():
        child_path = f"{path}.{key}" if path else key
        if key in stored:
            yield from _compare(child_path, value, stored[key], in_list)
        elif value not in ({}, []):
            yield FieldDifference(child_path, "dropped", value)
    if in_list:
        for key in stored.keys() - written.keys():
            yield FieldDifference(f"{path}.{key}", "defaulted", stored=stored[key])


class ApplyResult(Struct):
    """The result after all objects of a cluster were applied twice: object counts, durations and problems."""

    objects: int = 0
    """Number of objects that the API server accepted."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration by step: apply (including the waits for health), second apply, read back."""
    refusals: list[ObjectProblem] = field(default_factory=list)
    unhealthy: list[ObjectProblem] = field(default_factory=list)
    unstable: list[ObjectProblem] = field(default_factory=list)
    """Objects that every attempt of the second apply changed."""
    differences: list[ObjectProblem] = field(default_factory=list)
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
    with measured(result.seconds, "apply"):
        for accepted, refusals, unhealthy in apply_waves(client, synced, replacements, progress, health_s):
            result.objects += len(accepted)
            result.refusals += refusals
            result.unhealthy += unhealthy
    refused = {id(refusal.manifest) for refusal in result.refusals}
    stored = [manifest for manifest in synced if id(manifest) not in refused]
    with ThreadPoolExecutor(THREADS) as pool:
        with measured(result.seconds, "second apply"):
            result.unstable += filter(None, pool.map(partial(_instability, client), stored))
        with measured(result.seconds, "read back"):
            result.differences += chain.from_iterable(pool.map(partial(_differences, client), stored))
    return result


def apply_waves(
    client: Client,
    synced: Sequence[Manifest],
    replacements: Iterable[Object],
    progress: Callable[[str], None],
    health_s: float = HEALTH_SECONDS,
) -> Iterator[tuple[list[Manifest], list[ObjectProblem], list[ObjectProblem]]]:
    """Applies all objects once; yields the accepted, refused and unhealthy objects of each sync wave."""
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


def apply_object(client: Client, manifest: Manifest) -> ObjectProblem | None:
    """Applies one object. Returns the problem if the API server refuses the object; None if the object is accepted."""
    try:
        client.apply(simulated_document(manifest))
    except ApiError as error:
        return ObjectProblem(manifest, str(error))
    return None


def _instability(client: Client, manifest: Manifest) -> ObjectProblem | None:
    document = simulated_document(manifest)
    for _ in range(ATTEMPTS):
        before, after = client.get(*address_of(document)), client.apply(document)
        if before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]:
            return None
    return ObjectProblem(manifest, "a second apply changed the object")


def _differences(client: Client, manifest: Manifest) -> list[ObjectProblem]:
    document = simulated_document(manifest)
    found = differences(document, client.get(*address_of(document)))
    return [ObjectProblem(manifest, str(row)) for row in found if not _is_harmless(row, manifest)]


def _is_harmless(difference: FieldDifference, manifest: Manifest) -> bool:
    """Returns whether Argo CD ignores a difference.

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
def measured(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Measures the seconds that a `with` block takes, and writes them to `seconds` under the key `step`."""
    started = time.monotonic()
    yield
    seconds[step] = time.monotonic() - started
