"""Compares the specs of a fleet: a second spec must not name something that belongs to one cluster.

The claims of a spec are also stored, so that a comparison does not read the specs again. This module imports the rules
only for a spec without stored claims.
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
    """Something in a spec that may belong to only one cluster, for example its cloud's name of the cluster."""

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
    """A claim of a spec, if an earlier spec has the same claim."""

    rule: str
    path: SpecPath
    message: str
    related: Related


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
        self.compared: dict[str, tuple[tuple[Claim, ...], tuple[Conflict, ...]]] = {}
        """The claims and the conflicts of each cluster that `findings` has compared, by spec file."""

    def conflicts(self, cluster: str, claims: Iterable[Claim]) -> Iterator[Conflict]:
        """Yields the conflicts of a spec with the specs before it, and adds the spec."""
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
        """Returns the findings about a spec and the specs before it, and adds the spec."""
        claims = tuple(claims_of(spec, source))
        conflicts = tuple(self.conflicts(spec.metadata.name, claims))
        self.compared[source.file] = claims, conflicts
        return [RULES[found.rule].at(found.path, found.message, related=[found.related]) for found in conflicts]

    def add_unnamed(self, root: Path, files: Iterable[str], named: Sequence[str], cache: "ResultCache") -> None:
        """Adds all specs of a fleet that a command does not name.

        A spec that gpuc cannot read, and a value that its spec accepts in two clusters, are left out: a command about
        all clusters reports them, or reports nothing.

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
        """Adds a spec that another shard compiles."""
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
    """Yields the claims of a spec. Ends at the first value that is unknown because of an error."""
    from gpuc.diagnostics.suppressions import accepts
    from gpuc.diagnostics.unknown import until_unknown
    from gpuc.rules import FLEET_RULES

    for check in FLEET_RULES.discover():
        for path, identity, words, environment in until_unknown(check.find(spec.spec)):
            accepted = accepts(source.tree, path, check.rule.id)
            yield Claim(check.rule.id, identity, words, path, source.locate(path), environment, accepted)
