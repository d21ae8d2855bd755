"""Finds out whether a finding about the output comes from a customization of the user or from a bug of gpuc."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from gpuc.customize.customizer import Customizer
from gpuc.diagnostics.finding import Finding, Path
from gpuc.manifest.manifest import Artifact, Manifest
from gpuc.model import Cluster
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import grouped

_Key = tuple[str, str, str, str, Path, str]
Verify = Callable[[Sequence[Artifact]], Sequence[ObjectFinding]]
"""Returns the findings of all checks of the output."""


def split_by_cause(
    cluster: Cluster, emitted: Sequence[Artifact], artifacts: Sequence[Artifact], verify: Verify
) -> tuple[list[Finding], list[ObjectFinding]]:
    """Returns the findings that customizations cause, at their lines in the spec, and separately all other findings.

    A finding that also appears without all customizations has another cause. If a customization set the value that a
    finding is about, this customization is the cause. For other findings, gpuc leaves out one customization at a time
    and runs the checks again: if the finding disappears, the customization that was left out is the cause. If there are
    no findings, the checks run only once.

    Args:
        emitted: the artifacts without customizations.
        artifacts: the artifacts with customizations.
    """
    entries, found = Customizer(cluster).entries, verify(artifacts)
    if not entries or not found:
        return [], list(found)
    without_any = {_key(finding) for finding in verify(emitted)}
    others = [finding for finding in found if _key(finding) in without_any]
    caused = [finding for finding in found if _key(finding) not in without_any]
    located = {_key(finding): at for finding in caused if (at := finding.manifest.override(finding.path)) is not None}
    for entry in entries:
        unlocated = [finding for finding in caused if _key(finding) not in located]
        if not unlocated:
            break
        remaining = {_key(finding) for finding in verify(Customizer(cluster, entry).apply(emitted))}
        located |= {
            _key(finding): _value_below(finding, entry) for finding in unlocated if _key(finding) not in remaining
        }
    # Several customizations together cause the findings that remain.
    return _grouped(_at(finding, located.get(_key(finding), entries[0])) for finding in caused), others


def _grouped(findings: Iterable[Finding]) -> list[Finding]:
    """Returns one finding for all findings of a rule at the same path: one value can be wrong for many objects."""
    return [
        replace(first, message=f"{first.message} (and {len(others)} more findings of this rule)") if others else first
        for first, *others in grouped(findings, lambda finding: (finding.id, finding.path)).values()
    ]


def _value_below(finding: ObjectFinding, entry: Path) -> Path:
    """Returns the spec path of the first value that the customization `entry` set below the path of a finding.

    Returns the path of the customization if the customization set no value there.
    """
    values = finding.manifest.overrides.items()
    below = (at for path, at in values if path[: len(finding.path)] == finding.path and at[: len(entry)] == entry)
    return next(below, entry)


def _at(finding: ObjectFinding, path: Path) -> Finding:
    located = finding.to_finding()
    return located if located.path == path else replace(located, path=path, on_key=path[-1] == "values")


def _key(finding: ObjectFinding) -> _Key:
    manifest: Manifest = finding.manifest
    return (finding.rule.id, manifest.kind, manifest.namespace, manifest.name, finding.path, finding.message)
