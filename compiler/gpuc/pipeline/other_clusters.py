"""Compares the specs of a fleet: finds values that only one cluster may have but that two specs have.

The claims of a spec (these values) are stored, so that a later comparison does not read the spec again. This module
imports the rules only for a spec without stored claims.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuc.diagnostics.finding import RULES, Finding, Mark, Related
from gpuc.diagnostics.finding import Path as SpecPath

if TYPE_CHECKING:
    from gpuc.pipeline.result_cache import ResultCache
    from gpuc.source import Source
    from gpuc.spec.cluster import ClusterSpec


class Claim(Struct, frozen=True):
    """A value in a spec that only one cluster may have, for example the name of the cluster in its cloud."""

    rule: str
    """The id of the rule."""
    identity: tuple[str, ...]
    """The identity of the thing: equal if two specs mean the same thing."""
    words: str
    """The thing, as words in a message."""
    path: SpecPath
    mark: Mark
    environment: str
    """The environment of the cluster, if clusters of the same environment may share the thing; else empty."""
    is_accepted: bool
    """Whether the spec accepts that another spec has it too."""


class Conflict(Struct, frozen=True):
    """The mistake that two specs have the same claim, which is a value that only one cluster may have."""

    rule: str
    path: SpecPath
    message: str
    related: Related


class Owner(Struct, frozen=True):
    """The first spec with a value that only one cluster may have."""

    cluster: str
    mark: Mark
    environment: str


class OtherClusters:
    """The claims of the specs that were read so far: values that only one cluster may have, by rule id."""

    def __init__(self) -> None:
        self._owners: dict[tuple[str, tuple[str, ...]], dict[str, Owner]] = {}
        """By environment; the key is empty for what belongs to one cluster."""
        self.compared: dict[str, tuple[tuple[Claim, ...], tuple[Conflict, ...]]] = {}
        """The claims and the conflicts of each cluster that `findings` has compared, by spec file."""

    def conflicts(self, cluster: str, claims: Iterable[Claim]) -> Iterator[Conflict]:
        """Yields the claims of a spec that earlier specs have already, and remembers the claims for later specs."""
        for claim in claims:
            owners = self._owners.setdefault((claim.rule, claim.identity), {})
            others = (other for key, other in owners.items() if not claim.environment or key != claim.environment)
            first = next((other for other in others if other.cluster != cluster), None)
            if first is None:
                owners.setdefault(claim.environment, Owner(cluster, claim.mark, claim.environment))
                continue
            of_first = f" ({first.environment})" if claim.environment else ""
            expected = "in only one environment" if claim.environment else "in only one spec"
            message = f"{claim.words} is also in the spec of {first.cluster}{of_first}; expected {expected}"
            related = Related(f"in the spec of {first.cluster}", mark=first.mark)
            yield Conflict(claim.rule, claim.path, message, related)

    def findings(self, spec: "ClusterSpec", source: "Source") -> list[Finding]:
        """Returns findings about values that a spec shares with earlier specs, and adds its values for later calls."""
        claims = tuple(claims_of(spec, source))
        conflicts = tuple(self.conflicts(spec.metadata.name, claims))
        self.compared[source.file] = claims, conflicts
        return [RULES[found.rule].at(found.path, found.message, related=[found.related]) for found in conflicts]

    def add_unnamed(self, root: Path, files: Iterable[str], named: Sequence[str], cache: "ResultCache") -> None:
        """Adds the claims of all specs that the command does not name, so that the named specs are compared with them.

        The function leaves out specs that gpuc cannot read, and values that a spec accepts in two clusters. A command
        about all clusters reports these specs.

        Args:
            files: the spec files of all clusters, relative to the root.
        """
        for file in files:
            if file in named:
                continue
            entry = cache.entry(file)
            for claim in entry.claims if entry else _read_claims(root, file, cache):
                if not claim.is_accepted:
                    owners = self._owners.setdefault((claim.rule, claim.identity), {})
                    owners.setdefault(claim.environment, Owner(Path(file).stem, claim.mark, claim.environment))

    def add_selected(self, root: Path, file: str, cache: "ResultCache") -> None:
        """Adds the claims of a spec that another CI job compiles, so that this job compares its own specs with them."""
        entry = cache.entry(file)
        list(self.conflicts(Path(file).stem, entry.claims if entry else _read_claims(root, file, cache)))


def _read_claims(root: Path, file: str, cache: "ResultCache") -> tuple[Claim, ...]:
    """Returns the claims of a spec file, and stores them; no claims if the file has errors."""
    from gpuc.diagnostics.finding import StageError
    from gpuc.source import read
    from gpuc.spec.parse import parse

    try:
        source = read(root, file)
        claims = tuple(claims_of(parse(source), source))
    except StageError:
        return ()
    cache.store(file, source.files, claims, None)
    return claims


def claims_of(spec: "ClusterSpec", source: "Source") -> Iterator[Claim]:
    """Yields the claims of a spec: values that only one cluster may have. Ends at the first unknown value."""
    from gpuc.diagnostics.suppressions import accepts
    from gpuc.diagnostics.unknown import until_unknown
    from gpuc.rules import FLEET_RULES

    for check in FLEET_RULES.discover():
        for path, identity, words, environment in until_unknown(check.find(spec.spec)):
            accepted = accepts(source.tree, path, check.rule.id)
            yield Claim(check.rule.id, identity, words, path, source.locate(path), environment, accepted)
