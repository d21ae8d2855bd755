"""Impacts of a change on the requests that Gatekeeper checks."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change, changed
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP312", Level.RESTRICTS)
def gatekeeper_checks_more(change: Change) -> Impacts:
    """Gatekeeper checks requests of more namespaces, or requests are refused while Gatekeeper is not available."""
    yield from _coverage_changes(change, checks_more=True)


@impact("IMP311", Level.NONE)
def gatekeeper_checks_less(change: Change) -> Impacts:
    """Gatekeeper ignores requests of more namespaces, or requests are accepted while Gatekeeper is not available."""
    yield from _coverage_changes(change, checks_more=False)


_FAILURE: Path = ("validatingWebhookFailurePolicy",)
_DEFAULT = "Ignore"
"""The failure policy without a Helm value. Source: gatekeeper 3.23.0 charts/gatekeeper/values.yaml"""


def _coverage_changes(change: Change, *, checks_more: bool) -> Iterator[Raised]:
    """Yields the changes with which a Gatekeeper checks more requests, or fewer.

    The Gatekeeper exists in both states.
    """
    kept = set(change.before.objects.namespaces) & set(change.after.objects.namespaces)
    for pair in change.kept("config.gatekeeper.sh", "Config"):
        before, after = (dict(_ignored(manifest)) for manifest in (pair.before, pair.after))
        some, others, manifest = (before, after, pair.before) if checks_more else (after, before, pair.after)
        if found := [name for name in some if name not in others and (name in kept or "*" in name)]:
            message = f"{'checks' if checks_more else 'ignores'} the requests of {kind_of(found, 'namespace')}"
            yield pair.raised(message, some[found[0]])._replace(manifest=manifest)
    values = change.values_of("gatekeeper")
    for policy in changed([values] if values else [], _FAILURE, _DEFAULT):
        if (policy.after == "Fail") == checks_more:
            raised = policy.raised(
                f"the API server {'refuses' if checks_more else 'allows'} requests while Gatekeeper does not answer"
            )
            is_written = policy.pair.manifest.override(_FAILURE) is not None
            yield raised if is_written else raised._replace(manifest=policy.pair.before)


def _ignored(manifest: Manifest | None) -> Iterator[tuple[str, Path]]:
    """Yields the namespaces that the webhook ignores, with their paths in the Config."""
    for index, entry in items(dig(manifest.body, "spec", "match") if manifest else ()):
        processes = [process for _, process in items(dig(entry, "processes"))]
        if "webhook" in processes or "*" in processes:
            for number, name in items(dig(entry, "excludedNamespaces")):
                yield str(name), ("spec", "match", index, "excludedNamespaces", number)
