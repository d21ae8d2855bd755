"""The namespaces whose requests Gatekeeper ignores, and what happens to requests while Gatekeeper does not run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change, Pair

_FAILURE: Path = ("validatingWebhookFailurePolicy",)
_DEFAULT = "Ignore"
"""The failure policy without a Helm value. Source: gatekeeper 3.23.0 charts/gatekeeper/values.yaml"""


@dataclass(frozen=True)
class CoverageChange:
    """A change of the requests about which Gatekeeper decides."""

    words: str
    checks_more: bool
    manifest: Manifest
    path: Path


def coverage_changes(change: Change) -> Iterator[CoverageChange]:
    """Yields the changes of a Gatekeeper that both states have."""
    kept = set(change.before.objects.namespaces) & set(change.after.objects.namespaces)
    for pair in change.pairs("config.gatekeeper.sh", "Config"):
        if pair.is_changed:
            yield from _namespaces(pair, kept)
    for pair in change.helm_values():
        if pair.name == "gatekeeper" and pair.changes(*_FAILURE):
            before, after = (value or _DEFAULT for value in pair.values(*_FAILURE))
            if before != after:
                words = "refuses" if after == "Fail" else "allows"
                text = f"the API server {words} requests while Gatekeeper does not answer"
                is_removed = pair.before is not None and pair.manifest.override(_FAILURE) is None
                manifest = pair.before if is_removed and pair.before else pair.manifest
                yield CoverageChange(text, after == "Fail", manifest, _FAILURE)


def _namespaces(pair: Pair, kept: set[str]) -> Iterator[CoverageChange]:
    before, after = (dict(_ignored(manifest)) for manifest in (pair.before, pair.after))
    for manifest, some, others, verb in (
        (pair.after, after, before, "ignores"),
        (pair.before, before, after, "checks"),
    ):
        found = [name for name in some if name not in others and (name in kept or "*" in name)]
        if found and manifest is not None:
            noun = "namespace" if len(found) == 1 else "namespaces"
            text = f"{verb} the requests of {noun} {', '.join(found)}"
            yield CoverageChange(text, verb == "checks", manifest, some[found[0]])


def _ignored(manifest: Manifest | None) -> Iterator[tuple[str, Path]]:
    """Yields the namespaces that the webhook ignores, with their paths in the Config."""
    for index, entry in items(dig(manifest.body, "spec", "match") if manifest else ()):
        processes = [process for _, process in items(dig(entry, "processes"))]
        if "webhook" in processes or "*" in processes:
            for number, name in items(dig(entry, "excludedNamespaces")):
                yield str(name), ("spec", "match", index, "excludedNamespaces", number)
