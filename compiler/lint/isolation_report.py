"""The proof of isolation in words: a matrix of tenants, what is open, and what the proof rests on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.report.terminal import Paint, visible
from compiler.verify.flaw import place
from compiler.verify.isolation.assumptions import Assumption, Basis
from compiler.verify.isolation.matrix import State, Verdict
from compiler.verify.isolation.ports import told
from compiler.verify.isolation.proof import Gate, Opening, Reach

_WIDTH_MAX = 100
"""Columns of a matrix that a terminal still shows; a wider one is left out."""
_WAYS_MAX = 3
"""Ways through that are told of one pair."""
_COLOURS = {State.BLOCKED: "32", State.DECLARED: "33", State.OPEN: "1;31"}
_BASIS_COLOURS = {Basis.CHECKED: "32", Basis.DECLARED: "36", Basis.ASSUMED: "33", Basis.BROKEN: "1;31"}


@dataclass(frozen=True)
class Proof:
    """What was proven about one tree."""

    name: str
    """A cluster's, or the paths of the tree."""
    reach: Reach
    verdicts: Sequence[Verdict]
    assumptions: Sequence[Assumption]
    seconds: float
    """How long the proof took, without compiling or reading."""

    @property
    def holds(self) -> bool:
        """Whether no pair is open, and nothing that the proof rests on is known to be false."""
        return not any(each.state is State.OPEN for each in self.verdicts) and not any(
            each.basis is Basis.BROKEN for each in self.assumptions
        )


def text(proof: Proof, *, colour: bool = False) -> str:
    """For people."""
    paint = Paint(colour)
    return visible_lines([*_head(proof), *_matrix(proof, paint), *_ways(proof, paint), *_rests(proof, paint)])


def visible_lines(lines: list[str]) -> str:
    """Lines that end with a break each."""
    return "".join(f"{line}\n" for line in lines)


def _head(proof: Proof) -> Iterator[str]:
    count = {state: sum(each.state is state for each in proof.verdicts) for state in State}
    tenancy = proof.reach.tenancy
    whose = f"by label {tenancy.key}" if tenancy.key else "each namespace taken for one"
    yield (
        f"{visible(proof.name)}: {len(tenancy.names)} tenants ({whose}), {len(tenancy.tenants)} namespaces, "
        f"{len(proof.reach.policies)} NetworkPolicies"
    )
    parts = [f"{count[State.BLOCKED]} blocked"]
    parts += [f"{number} {state.value}" for state, number in count.items() if number and state is not State.BLOCKED]
    yield f"{len(proof.verdicts)} ordered pairs: {', '.join(parts)}; proven in {proof.seconds * 1000:.0f} ms"
    yield ""


def _matrix(proof: Proof, paint: Paint) -> Iterator[str]:
    names = proof.reach.tenancy.names
    states = {(each.caller, each.called): each.state for each in proof.verdicts}
    first = max((len(name) for name in (*names, "from, to")), default=0)
    widths = [max(len(name), len("declared")) for name in names]
    if first + sum(widths) + 2 * len(widths) > _WIDTH_MAX or len(names) < 2:
        return
    yield "  ".join(["from, to".ljust(first), *(visible(n).ljust(w) for n, w in zip(names, widths, strict=True))])
    for caller in names:
        cells = [visible(caller).ljust(first)]
        for called, width in zip(names, widths, strict=True):
            state = states.get((caller, called))
            cell = (state.value if state else "-").ljust(width)
            cells.append(paint(_COLOURS[state], cell) if state else cell)
        yield "  ".join(cells).rstrip()
    yield ""


def _ways(proof: Proof, paint: Paint) -> Iterator[str]:
    for verdict in proof.verdicts:
        if verdict.state is State.BLOCKED:
            continue
        state = paint(_COLOURS[verdict.state], verdict.state.value.upper())
        yield f"{state} {visible(verdict.caller)} -> {visible(verdict.called)}: {told(verdict.ports)}"
        for opening in verdict.openings[:_WAYS_MAX]:
            yield visible(f"  pods of {opening.caller} -> pods of {opening.called}: {told(opening.ports)}")
            yield visible(f"    out  {_gate(opening.egress)}")
            yield visible(f"    in   {_gate(opening.ingress)}")
        if len(verdict.openings) > _WAYS_MAX:
            yield f"  and {len(verdict.openings) - _WAYS_MAX} more ways"
        yield ""


def _gate(gate: Gate) -> str:
    if gate.policy is None:
        over = "with labels that none selects" if gate.avoided else "at all"
        return f"no {gate.direction} policy of {gate.namespace} isolates pods {over}"
    manifest = gate.policy.manifest
    return f"{manifest}, {manifest.file}: {place(gate.path)}"


def _rests(proof: Proof, paint: Paint) -> Iterator[str]:
    yield "The proof rests on:"
    for each in proof.assumptions:
        basis = paint(_BASIS_COLOURS[each.basis], each.basis.value.ljust(8))
        yield f"  {basis}  {each.what}"
        yield visible(f"            {each.because}")


def document(proofs: Sequence[Proof]) -> str:
    """For programs."""
    return json.dumps({"version": 1, "proofs": [_plain(proof) for proof in proofs]}, indent=2) + "\n"


def _plain(proof: Proof) -> dict[str, Any]:
    return {
        "name": proof.name,
        "holds": proof.holds,
        "tenants": {name: list(spaces) for name, spaces in proof.reach.tenancy.homes.items()},
        "pairs": [
            {
                "from": each.caller,
                "to": each.called,
                "state": each.state.value,
                "ways": [_plain_way(opening) for opening in each.openings],
            }
            for each in proof.verdicts
        ],
        "assumptions": [
            {"what": each.what, "basis": each.basis.value, "because": each.because} for each in proof.assumptions
        ],
        "seconds": round(proof.seconds, 4),
    }


def _plain_way(opening: Opening) -> dict[str, Any]:
    return {
        "from": opening.caller,
        "to": opening.called,
        "ports": told(opening.ports),
        "declared": opening.is_declared,
        "egress": _plain_gate(opening.egress),
        "ingress": _plain_gate(opening.ingress),
    }


def _plain_gate(gate: Gate) -> dict[str, str] | None:
    """The rule; None where no policy isolates the pods."""
    if gate.policy is None:
        return None
    manifest = gate.policy.manifest
    return {"policy": f"{manifest.namespace}/{manifest.name}", "file": manifest.file, "path": place(gate.path)}
