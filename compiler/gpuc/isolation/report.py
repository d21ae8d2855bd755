"""The proof of isolation in words: a matrix of tenants, what is open, and what the proof rests on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpuc.diagnostics.finding import Mark, Path
from gpuc.diagnostics.report.terminal import Paint, visible
from gpuc.isolation.assumptions import Assumption, Basis
from gpuc.isolation.matrix import State, Verdict
from gpuc.isolation.proof import Gate, Opening, Reach
from gpuc.kubernetes.ports import described
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import place

_WIDTH_MAX = 100
"""Columns of a matrix that a terminal still shows; a wider one has numbers for the tenants, then signs."""
_WAYS_MAX = 3
"""Ways through that are told of one pair."""
_PAIRS_MAX = 10
"""Pairs that are told with their ways; of more, their names."""
_SIGNS = {State.BLOCKED: ".", State.DECLARED: "d", State.OPEN: "X"}
Locate = Callable[[Manifest, Path], Mark | None]
"""Where a value of an object stands in a file that somebody wrote; None where nobody knows."""
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
    locate: Locate = lambda manifest, path: None

    @property
    def holds(self) -> bool:
        """Whether no pair is open, and nothing that the proof rests on is known to be false."""
        return not any(each.state is State.OPEN for each in self.verdicts) and not any(
            each.basis is Basis.BROKEN for each in self.assumptions
        )


def text(proof: Proof, *, colour: bool = False) -> str:
    """For people."""
    paint = Paint(colour)
    lines = [*_head(proof), *_matrix(proof, paint), *_ways(proof, paint), *_rests(proof, paint), _end(proof, paint)]
    return "".join(f"{line}\n" for line in lines)


def _head(proof: Proof) -> Iterator[str]:
    count = {state: sum(each.state is state for each in proof.verdicts) for state in State}
    tenancy = proof.reach.tenancy
    whose = f"by label {visible(tenancy.key)}" if tenancy.key else "each namespace taken for one"
    yield (
        f"{visible(proof.name)}: {len(tenancy.names)} tenants ({whose}), {len(tenancy.tenants)} namespaces, "
        f"{len(proof.reach.policies)} NetworkPolicies"
    )
    parts = [f"{count[State.BLOCKED]} blocked"]
    parts += [f"{number} {state.value}" for state, number in count.items() if number and state is not State.BLOCKED]
    yield f"{len(proof.verdicts)} ordered pairs: {', '.join(parts)}; proven in {proof.seconds * 1000:.0f} ms"
    yield ""


def _matrix(proof: Proof, paint: Paint) -> Iterator[str]:
    """From each tenant in a line to each in a column; in signs where words do not fit, nothing where signs do not."""
    names = [visible(name) for name in proof.reach.tenancy.names]
    states = {(each.caller, each.called): each.state for each in proof.verdicts}
    if len(names) < 2:
        return
    first = max(len(name) for name in (*names, "from, to"))
    widths = [max(len(name), len("declared")) for name in names]
    if first + sum(widths) + 2 * len(widths) <= _WIDTH_MAX:
        heads, words, lead = names, {state: state.value for state in State}, "from, to"
    else:
        heads, words, lead = [str(number) for number in range(1, len(names) + 1)], _SIGNS, "from, to"
        widths = [len(heads[-1])] * len(names)
        names = [f"{number:>{len(heads[-1])}} {name}" for number, name in enumerate(names, 1)]
        first = max(len(name) for name in (*names, lead))
        if first + sum(widths) + len(widths) > _WIDTH_MAX:
            yield f"The matrix of {len(names)} tenants is too wide to be shown; --format json has every pair."
            yield ""
            return
        yield f". {State.BLOCKED.value}, d {State.DECLARED.value}, X {State.OPEN.value}"
    gap = "  " if words is not _SIGNS else " "
    yield gap.join(
        [lead.ljust(first), *(head.ljust(width) for head, width in zip(heads, widths, strict=True))]
    ).rstrip()
    for caller, shown in zip(proof.reach.tenancy.names, names, strict=True):
        cells = [shown.ljust(first)]
        for called, width in zip(proof.reach.tenancy.names, widths, strict=True):
            state = states.get((caller, called))
            cell = (words[state] if state else "-").ljust(width)
            cells.append(paint(_COLOURS[state], cell) if state else cell)
        yield gap.join(cells).rstrip()
    yield ""


def _ways(proof: Proof, paint: Paint) -> Iterator[str]:
    """The pairs that are not blocked, with their ways; of many pairs the first, open ones before declared ones."""
    yield from _bare(proof)
    several = [each for each in proof.verdicts if each.state is not State.BLOCKED]
    several.sort(key=lambda each: each.state is not State.OPEN)
    for verdict in several[:_PAIRS_MAX]:
        state = paint(_COLOURS[verdict.state], verdict.state.value.upper())
        yield f"{state} {visible(verdict.caller)} -> {visible(verdict.called)}: {visible(described(verdict.ports))}"
        for opening in verdict.openings[:_WAYS_MAX]:
            yield visible(f"  pods of {opening.caller} -> pods of {opening.called}: {described(opening.ports)}")
            yield visible(f"    out  {_gate(opening.egress, proof.locate)}")
            yield visible(f"    in   {_gate(opening.ingress, proof.locate)}")
        if len(verdict.openings) > _WAYS_MAX:
            yield f"  and {len(verdict.openings) - _WAYS_MAX} more ways"
        yield ""
    if len(several) > _PAIRS_MAX:
        yield f"and {len(several) - _PAIRS_MAX} more pairs, in the matrix; --format json has the ways of each"
        yield ""


def _bare(proof: Proof) -> Iterator[str]:
    """Namespaces through which others are reached because no policy isolates any of their pods."""
    found: dict[str, set[str]] = {}
    for verdict in proof.verdicts:
        for opening in verdict.openings if verdict.state is State.OPEN else ():
            for gate in (opening.egress, opening.ingress):
                if gate.policy is None and not gate.avoided:
                    found.setdefault(gate.direction, set()).add(gate.namespace)
    for direction, spaces in sorted(found.items()):
        if len(spaces) > 1:
            yield visible(f"No {direction} policy isolates any pod of {len(spaces)} namespaces: {_several(spaces)}")
    if any(len(spaces) > 1 for spaces in found.values()):
        yield ""


def _several(names: set[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:_PAIRS_MAX]) + (
        f" and {len(listed) - _PAIRS_MAX} more" if len(listed) > _PAIRS_MAX else ""
    )


def _gate(gate: Gate, locate: Locate) -> str:
    if gate.policy is None:
        over = "with labels that none selects" if gate.avoided else "at all"
        return f"no {gate.direction} policy of {gate.namespace} isolates pods {over}"
    manifest = gate.policy.manifest
    return f"{manifest}, {place(gate.path)}, {locate(manifest, gate.path) or manifest.file}"


def _rests(proof: Proof, paint: Paint) -> Iterator[str]:
    yield "The proof rests on:"
    for each in proof.assumptions:
        basis = paint(_BASIS_COLOURS[each.basis], each.basis.value.ljust(8))
        yield f"  {basis}  {each.what}"
        yield visible(f"            {each.because}")


def _end(proof: Proof, paint: Paint) -> str:
    """Whether the proof holds, and why not."""
    broken = sum(each.basis is Basis.BROKEN for each in proof.assumptions)
    open_pairs = sum(each.state is State.OPEN for each in proof.verdicts)
    assumed = sum(each.basis is Basis.ASSUMED for each in proof.assumptions)
    if proof.holds:
        return paint("1", f"The proof holds{f', if what is assumed is true ({assumed})' if assumed else ''}.")
    why = [f"{open_pairs} of {len(proof.verdicts)} pairs open"] if open_pairs else []
    why += [f"{broken} of what it rests on broken"] if broken else []
    return paint("1", f"The proof does not hold: {', '.join(why)}.")


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
                "ways": [_plain_way(opening, proof.locate) for opening in each.openings],
            }
            for each in proof.verdicts
        ],
        "assumptions": [
            {"what": each.what, "basis": each.basis.value, "because": each.because} for each in proof.assumptions
        ],
        "seconds": round(proof.seconds, 4),
    }


def _plain_way(opening: Opening, locate: Locate) -> dict[str, Any]:
    return {
        "from": opening.caller,
        "to": opening.called,
        "ports": described(opening.ports),
        "declared": opening.is_declared,
        "egress": _plain_gate(opening.egress, locate),
        "ingress": _plain_gate(opening.ingress, locate),
    }


def _plain_gate(gate: Gate, locate: Locate) -> dict[str, Any] | None:
    """The rule; None where no policy isolates the pods."""
    if gate.policy is None:
        return None
    manifest = gate.policy.manifest
    mark = locate(manifest, gate.path)
    return {
        "policy": f"{manifest.namespace}/{manifest.name}",
        "file": mark.file if mark else manifest.file,
        "line": mark.line if mark else None,
        "path": place(gate.path),
    }
