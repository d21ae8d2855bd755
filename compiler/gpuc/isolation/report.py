"""Prints the isolation proof: a matrix of tenants, the pairs that can connect, and the assumptions."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from gpuc.diagnostics.place import place
from gpuc.diagnostics.report.document import Block, Part, Span, Table, json_text, picked, position, strong
from gpuc.diagnostics.report.printer import printed
from gpuc.diagnostics.words import first_names, short_list
from gpuc.isolation.assumptions import Assumption, Basis
from gpuc.isolation.outside import public_paths
from gpuc.isolation.proof import Allowance, Connection, Reachability, State, Verdict
from gpuc.kubernetes.network_policy import EGRESS
from gpuc.kubernetes.ports import described
from gpuc.manifest.manifest import Locate
from gpuc.objects.object_set import grouped

_MAX_WIDTH = 100
"""The maximum width of the matrix; a wider matrix has numbers for the columns and signs for the states."""
_MAX_CONNECTIONS = 3
"""The number of connections that the report lists for one pair."""
_MAX_PAIRS = 10
"""The number of pairs that the report lists with their connections."""
_CORNER = "from, to"
"""The text in the upper left corner of the matrix."""
_SIGNS = {State.BLOCKED: ".", State.DECLARED: "d", State.OPEN: "X"}
_COLOURS = {State.BLOCKED: "32", State.DECLARED: "33", State.OPEN: "1;31"}
_BASIS_COLOURS = {Basis.CHECKED: "32", Basis.DECLARED: "36", Basis.ASSUMED: "33"}
_BASIS_COLOURS |= dict.fromkeys((Basis.UNPROVEN, Basis.BROKEN), "1;31")


class Proof(Struct, frozen=True):
    """The data of a report of `gpuc isolation`: which tenants' pods can connect, for one cluster or for manifests."""

    name: str
    """The name of the cluster, or the paths of the files."""
    reachability: Reachability
    verdicts: Sequence[Verdict]
    assumptions: Sequence[Assumption]
    seconds: float
    """The duration of the proof, without compiling and reading."""
    locate: Locate = lambda manifest, path: None
    engine: str = ""
    """The network policy engine that the spec declares; empty without a spec."""
    facts: Sequence[tuple[str, str]] = ()
    """The facts about the engine on which the proof relies, each with its sources."""

    @property
    def holds(self) -> bool:
        """Whether no pair of tenants can connect undeclared, and no assumption is known to be false or is unproven."""
        return not (self.states[State.OPEN] or self.bases[Basis.BROKEN] or self.bases[Basis.UNPROVEN])

    @property
    def states(self) -> Counter[State]:
        """The number of pairs of tenants for each state: blocked, declared or open."""
        return Counter(verdict.state for verdict in self.verdicts)

    @property
    def bases(self) -> Counter[Basis]:
        """The number of assumptions of the proof for each kind of evidence, from "checked" to "broken"."""
        return Counter(assumption.basis for assumption in self.assumptions)


def blocks(proof: Proof) -> Iterator[Block]:
    """Yields the lines of the report for people."""
    tenancy = proof.reachability.tenancy
    if not tenancy.tenants:
        yield f"{proof.name}: the cluster has no tenants, so there are no pairs to isolate."
        return
    source = f"by label {tenancy.key}" if tenancy.key else "every namespace is a tenant"
    yield (
        f"{proof.name}: {len(tenancy.names)} tenants ({source}), {len(tenancy.tenants)} namespaces, "
        f"{len(proof.reachability.policies)} NetworkPolicies"
    )
    counts = [
        f"{proof.states[state]} {state.value}" for state in State if proof.states[state] or state is State.BLOCKED
    ]
    yield f"{len(proof.verdicts)} ordered pairs: {', '.join(counts)}; proven in {proof.seconds * 1000:.0f} ms"
    yield ""
    yield from _matrix(proof)
    yield from _unisolated_namespaces(proof)
    yield from _pairs(proof)
    if public := public_paths(proof.reachability):
        yield "Public addresses with which policies allow connections:"
        for path in public:
            peers = f"{'to' if path.direction == EGRESS else 'from'} {short_list(path.peers)}"
            yield f"  {path.tenant} {peers}: {described(path.ports)} ({', '.join(path.namespaces)})"
        yield ""
    yield "Assumptions of the proof:"
    for assumption in proof.assumptions:
        basis = Span(f"{assumption.basis.value:<8}", _BASIS_COLOURS[assumption.basis])
        yield from (("  ", basis, f"  {assumption.claim}"), f"            {assumption.reason}")
    if proof.facts:
        yield from ("", f"Facts about the engine {proof.engine}, from which gpuc derives the policies and the proof:")
        yield from (line for fact, source in proof.facts for line in (f"  {fact}", f"    source: {source}"))
        yield ""
    yield strong(_conclusion(proof))


def _matrix(proof: Proof) -> Iterator[Block]:
    """Yields the matrix of connections from the tenant of a row to the tenant of a column. A wide matrix uses signs."""
    names = proof.reachability.tenancy.names
    states = {(verdict.client, verdict.server): verdict.state for verdict in proof.verdicts}
    if len(names) < 2:
        return
    digits = len(str(len(names)))
    numbered = [f"{number:>{digits}} {name}" for number, name in enumerate(names, 1)]
    numbers = [f"{number:<{digits}}" for number in range(1, len(names) + 1)]
    words = {state: f"{state.value:<8}" for state in State}
    for firsts, heads, signs, gap in ((names, names, words, "  "), (numbered, numbers, _SIGNS, " ")):
        rows: list[list[Part]] = [[_CORNER, *(head.ljust(len(signs[State.OPEN])) for head in heads)]]
        for first, client in zip(firsts, names, strict=True):
            found = (states.get((client, server)) for server in names)
            rows.append([first, *(Span(signs[state], _COLOURS[state]) if state else "-" for state in found)])
        table = Table(rows, gap)
        if max(map(len, printed([table]).splitlines())) <= _MAX_WIDTH:
            legend = f". {State.BLOCKED.value}, d {State.DECLARED.value}, X {State.OPEN.value}"
            yield from ((legend, table, "") if signs is _SIGNS else (table, ""))
            return
    yield from (f"The matrix of {len(names)} tenants is too wide for the terminal; --format json lists every pair.", "")


def _pairs(proof: Proof) -> Iterator[Block]:
    """Yields the pairs that are not blocked, with their connections; open pairs come before declared pairs."""
    connected = [verdict for verdict in proof.verdicts if verdict.state is not State.BLOCKED]
    connected.sort(key=lambda verdict: verdict.state is not State.OPEN)
    for verdict in connected[:_MAX_PAIRS]:
        state = Span(verdict.state.value.upper(), _COLOURS[verdict.state])
        yield state, f" {verdict.client} -> {verdict.server}: {described(verdict.ports)}"
        for connection in verdict.connections[:_MAX_CONNECTIONS]:
            pods = f"pods of namespace {connection.client} -> pods of namespace {connection.server}"
            yield f"  {pods}: {described(connection.ports)}"
            yield f"    egress   {_allowance(connection.egress, proof.locate)}"
            yield f"    ingress  {_allowance(connection.ingress, proof.locate)}"
        if len(verdict.connections) > _MAX_CONNECTIONS:
            yield f"  and {len(verdict.connections) - _MAX_CONNECTIONS} more connections"
        yield ""
    if len(connected) > _MAX_PAIRS:
        yield from (f"and {len(connected) - _MAX_PAIRS} more pairs; --format json lists all connections", "")


def _unisolated_namespaces(proof: Proof) -> Iterator[Block]:
    """Yields the namespaces of open pairs that have no ingress policy, or no egress policy."""
    unisolated: dict[str, set[str]] = defaultdict(set)
    for verdict in proof.verdicts:
        for connection in verdict.connections if verdict.state is State.OPEN else ():
            for allowance in (connection.egress, connection.ingress):
                if allowance.policy is None and not allowance.excluded:
                    unisolated[allowance.direction].add(allowance.namespace)
    several = {direction: sorted(names) for direction, names in sorted(unisolated.items()) if len(names) > 1}
    for direction, names in several.items():
        yield f"{len(names)} namespaces have no {direction} policy: {first_names(names, _MAX_PAIRS)}"
    if several:
        yield ""


def _allowance(allowance: Allowance, locate: Locate) -> str:
    """Returns the policy, path and line of an allowance, or the reason why no policy isolates the pods."""
    if allowance.policy is None:
        return allowance.missing_isolation
    manifest = allowance.policy.manifest
    return f"{manifest}, {place(allowance.path)}, {locate(manifest, allowance.path) or manifest.file}"


def _conclusion(proof: Proof) -> str:
    """Returns the last line: whether the proof holds, and the reasons if it does not hold."""
    counted, open_pairs = proof.bases, proof.states[State.OPEN]
    if proof.holds:
        assumed = counted[Basis.ASSUMED]
        condition = f", if all assumptions without evidence are true ({assumed})" if assumed else ""
        return f"The proof holds{condition}."
    reasons = [f"open pairs: {open_pairs} of {len(proof.verdicts)}"] if open_pairs else []
    false = [basis for basis in (Basis.BROKEN, Basis.UNPROVEN) if counted[basis]]
    reasons += [f"{basis.value} assumptions: {counted[basis]}" for basis in false]
    return f"The proof does not hold; {', '.join(reasons)}."


def document(proofs: Sequence[Proof]) -> str:
    """Returns the report about one or several clusters as a JSON document."""
    return json_text({"proofs": [_data(proof) for proof in proofs]}, 1)


def _data(proof: Proof) -> dict[str, Any]:
    tenants = proof.reachability.tenancy.tenants
    pairs = [
        {
            "from": verdict.client,
            "to": verdict.server,
            "state": verdict.state,
            "ways": [_connection_data(connection, proof.locate) for connection in verdict.connections],
        }
        for verdict in proof.verdicts
    ]
    return {
        **picked(proof, "name holds"),
        "tenants": grouped(sorted(tenants), tenants.__getitem__),
        "pairs": pairs,
        "public": [path._asdict() | {"ports": described(path.ports)} for path in public_paths(proof.reachability)],
        "assumptions": [
            {"what": claim, "basis": basis, "because": reason} for claim, basis, reason in proof.assumptions
        ],
        "engine": proof.engine,
        "facts": [{"what": statement, "source": source} for statement, source in proof.facts],
        "seconds": round(proof.seconds, 4),
    }


def _connection_data(connection: Connection, locate: Locate) -> dict[str, Any]:
    return {
        "from": connection.client,
        "to": connection.server,
        "ports": described(connection.ports),
        "declared": connection.is_declared,
        "egress": _allowance_data(connection.egress, locate),
        "ingress": _allowance_data(connection.ingress, locate),
    }


def _allowance_data(allowance: Allowance, locate: Locate) -> dict[str, Any] | None:
    """Returns the policy, file, line and path of an allowance; None if no policy isolates the pods."""
    if allowance.policy is None:
        return None
    manifest = allowance.policy.manifest
    where = position(locate(manifest, allowance.path), manifest.file)
    del where["column"]
    return {"policy": f"{manifest.namespace}/{manifest.name}", **where, "path": place(allowance.path)}
