"""Proves that the README of a cluster names everything that must exist outside of the output, such as IAM roles."""

from collections.abc import Iterator, Sequence

from gpuc.diagnostics.finding import Finding, Related, rule_table
from gpuc.emit.prerequisites import prerequisites
from gpuc.emit.prerequisites.record import Prerequisite
from gpuc.emit.substrate import substrate_output
from gpuc.manifest.manifest import Artifact, Values
from gpuc.model import Cluster
from gpuc.needs.objects import Need, Output, needs
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import emitted, grouped

rule_of = rule_table(__file__)
UNNAMED = rule_of("PRE001")
CONTRADICTION = rule_of("PRE002")


def findings(
    cluster: Cluster, artifacts: Sequence[Artifact], records: Sequence[Prerequisite] | None = None
) -> list[ObjectFinding]:
    """Returns a finding for each need that no prerequisite in the README names, about the first object with the need.

    Args:
        artifacts: the objects and Helm values, and the objects of users.
        records: the prerequisites to compare with; None for all prerequisites of the cluster.
    """
    named = {item.id for item in (prerequisites(cluster) if records is None else records)}
    found = grouped(needs_of(cluster, artifacts), lambda need: (need.id, need.manifest.written is not None))
    return [_unnamed(first, named) for first, *_ in found.values() if first.id not in named]


def contradictions(cluster: Cluster) -> Iterator[Finding]:
    """Yields a finding for each pair of prerequisites about the same thing that contradict each other."""
    first: dict[tuple[str, str], Prerequisite] = {}
    for record in prerequisites(cluster):
        for fact, value in record.facts.items():
            other = first.setdefault((record.id, fact), record)
            if other.facts[fact] != value:
                message = f"{record.what}: {fact} is {value}; another part of the spec states {other.facts[fact]}"
                related = Related(f"states {fact} {other.facts[fact]}", other.path)
                yield CONTRADICTION.at(record.path, message, related=(related,))


def needs_of(cluster: Cluster, artifacts: Sequence[Artifact]) -> list[Need]:
    """Returns everything outside of the output that the objects of a cluster need."""
    values = tuple(artifact.manifest for artifact in artifacts if isinstance(artifact, Values))
    known = cluster.catalog.releases[cluster.spec.releases.set].values()
    public = frozenset(release.repo for release in known)
    objects = emitted(artifacts, cluster.catalog)
    add_ons = substrate_output(cluster).add_ons
    return list(needs(Output(objects, values, cluster.components, public, cluster.network.policy_engine, add_ons)))


def _unnamed(need: Need, named: set[str]) -> ObjectFinding:
    kind, _, name = need.id.partition("/")
    known = sorted(item.partition("/")[2] for item in named if item.startswith(f"{kind}/"))
    others = f"; the prerequisites of this kind are {', '.join(known)}" if known else ""
    message = f"needs {kind.replace('-', ' ')} {name}, which no prerequisite names{others}"
    return ObjectFinding(UNNAMED, need.manifest, need.path, message)
