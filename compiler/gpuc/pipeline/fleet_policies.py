"""Reads the policies of a fleet, and tests them on their examples. All clusters of the fleet share the result."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from gpuc.diagnostics.finding import Finding, Mark, StageError
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.objects.object_finding import ObjectFinding
from gpuc.policy.library import Policy
from gpuc.policy.own import OwnPolicy, own_policies

_SOURCE: SpecPath = ("spec", "targets", 0, "code", 0, "source")
_PARAMETERS: SpecPath = ("spec", "parameters")
_PROPERTIES: SpecPath = ("spec", "crd", "spec", "validation", "openAPIV3Schema", "properties")


class FleetPolicies(Struct, frozen=True):
    """The policies of a fleet, without errors."""

    own: Mapping[str, OwnPolicy]
    """The policies by name, sorted."""
    findings: tuple[Finding, ...] = ()
    """Warnings and infos."""

    @property
    def policies(self) -> dict[str, Policy]:
        """The policies of the fleet by name, sorted."""
        return {name: entry.policy for name, entry in self.own.items()}

    def mark(self, finding: ObjectFinding) -> Mark | None:
        """Converts a finding about a ConstraintTemplate or constraint of the fleet into a position in policy.yaml.

        Returns None for a finding about any other object.
        """
        manifest = finding.manifest
        for entry in self.own.values():
            kind = entry.policy.kind
            if kind.lower() == manifest.name if manifest.kind == "ConstraintTemplate" else kind == manifest.kind:
                return entry.source.locate(_path(finding, entry.policy))
        return None


def fleet_policies(root: Path) -> FleetPolicies:
    """Reads the policies of a fleet, and tests the policies that have no errors on their examples.

    Raises:
        StageError: with all findings about the policies, if one of them is an error.
    """
    own, findings = own_policies(root)
    findings += _example_findings(own)
    if any(finding.is_error for finding in findings):
        raise StageError(findings)
    return FleetPolicies(own, tuple(findings))


def _example_findings(own: Mapping[str, OwnPolicy]) -> Iterator[Finding]:
    if own:
        from gpuc.pipeline.policy_examples import check_examples

        for entry in own.values():
            yield from check_examples(entry.policy)


def _path(finding: ObjectFinding, policy: Policy) -> SpecPath:
    """Returns the path in policy.yaml from which gpuc emits the path of the finding; an empty path if there is none."""
    path = finding.path
    if path[:2] == _PARAMETERS and len(path) > 2:
        return ("parameters", path[2], "schema")
    if path[: len(_PROPERTIES)] == _PROPERTIES and len(path) > len(_PROPERTIES):
        name, *rest = path[len(_PROPERTIES) :]
        return ("parameters", name, "schema", *rest)
    if path[: len(_SOURCE)] == _SOURCE and len(path) > len(_SOURCE) + 1:
        key, index, *rest = path[len(_SOURCE) :]
        if key == "validations":
            return ("validations", index, *rest)
        if key == "variables" and isinstance(index, int):
            return ("variables", list(policy.variables)[index])
    return ()
