"""Compares the specs of a fleet with each other: what belongs to one cluster must not be in a second spec."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuc.diagnostics.finding import Finding, Mark, Related, StageError
from gpuc.diagnostics.suppressions import accepts
from gpuc.diagnostics.unknown import until_unknown
from gpuc.rules import FLEET_RULES
from gpuc.source import Source, cluster_files, read
from gpuc.spec.parse import parse

if TYPE_CHECKING:
    from gpuc.spec.cluster import ClusterSpec


class Owner(Struct, frozen=True):
    """The first spec that names something."""

    cluster: str
    mark: Mark
    environment: str


class OtherClusters:
    """What belongs to the clusters that were read so far, by rule id and identity."""

    def __init__(self) -> None:
        self._owners: dict[tuple[str, tuple[str, ...]], dict[str, Owner]] = {}
        """By environment; the key is empty for what belongs to one cluster."""
        self._rules = FLEET_RULES.discover()

    def findings(self, spec: "ClusterSpec", source: Source) -> list[Finding]:
        """Returns the findings about a spec and the specs before it, and adds the spec."""
        name = spec.metadata.name
        found = []
        for check in self._rules:
            for path, identity, words, environment in until_unknown(check.find(spec.spec)):
                owners = self._owners.setdefault((check.rule.id, identity), {})
                others = (other for key, other in owners.items() if not environment or key != environment)
                first = next((other for other in others if other.cluster != name), None)
                if first is None:
                    owners.setdefault(environment, Owner(name, source.locate(path), environment))
                    continue
                of_first = f" ({first.environment})" if environment else ""
                expected = "in only one environment" if environment else "in only one spec"
                message = f"{words} is also in the spec of {first.cluster}{of_first}; expected {expected}"
                related = [Related(f"in the spec of {first.cluster}", mark=first.mark)]
                found.append(check.rule.at(path, message, related=related))
        return found

    def add_unnamed(self, root: Path, named: Sequence[str]) -> None:
        """Adds all specs of a fleet that a command does not name.

        A spec that gpuc cannot read, and a value that its spec accepts in two clusters, are left out: a command about
        all clusters reports them, or reports nothing.
        """
        for file in cluster_files(root):
            if file in named:
                continue
            try:
                source = read(root, file)
                spec = parse(source)
            except StageError:
                continue
            for check in self._rules:
                for owned in check.find(spec.spec):
                    if not accepts(source.tree, owned.path, check.rule.id):
                        owner = Owner(spec.metadata.name, source.locate(owned.path), owned.environment)
                        owners = self._owners.setdefault((check.rule.id, owned.identity), {})
                        owners.setdefault(owned.environment, owner)
