"""The namespaces whose requests Gatekeeper ignores, and what happens to requests while Gatekeeper does not run."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised

_FAILURE: Path = ("validatingWebhookFailurePolicy",)
_DEFAULT = "Ignore"
"""The failure policy without a Helm value. Source: gatekeeper 3.23.0 charts/gatekeeper/values.yaml"""


def coverage_changes(change: Change, *, checks_more: bool) -> Iterator[Raised]:
    """Yields the changes of a Gatekeeper of both states with which it decides about more requests, or about fewer."""
    kept = set(change.before.objects.namespaces) & set(change.after.objects.namespaces)
    for pair in change.kept("config.gatekeeper.sh", "Config"):
        before, after = (dict(_ignored(manifest)) for manifest in (pair.before, pair.after))
        some, others, manifest = (before, after, pair.before) if checks_more else (after, before, pair.after)
        if found := [name for name in some if name not in others and (name in kept or "*" in name)]:
            message = f"{'checks' if checks_more else 'ignores'} the requests of {kind_of(found, 'namespace')}"
            yield Raised("component gatekeeper", message, manifest, some[found[0]])
    values = change.values_of("gatekeeper")
    if values and values.changes(*_FAILURE):
        old, new = (value or _DEFAULT for value in values.values(*_FAILURE))
        if old != new and (new == "Fail") == checks_more:
            verb = "refuses" if checks_more else "allows"
            message = f"the API server {verb} requests while Gatekeeper does not answer"
            manifest = values.before if values.manifest.override(_FAILURE) is None else values.manifest
            yield Raised("component gatekeeper", message, manifest, _FAILURE)


def _ignored(manifest: Manifest | None) -> Iterator[tuple[str, Path]]:
    """Yields the namespaces that the webhook ignores, with their paths in the Config."""
    for index, entry in items(dig(manifest.body, "spec", "match") if manifest else ()):
        processes = [process for _, process in items(dig(entry, "processes"))]
        if "webhook" in processes or "*" in processes:
            for number, name in items(dig(entry, "excludedNamespaces")):
                yield str(name), ("spec", "match", index, "excludedNamespaces", number)
