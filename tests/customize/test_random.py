"""Random patches and values: each finding is at a patch or at a value of the spec, and gpuc can write the result."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuc.diagnostics.finding import StageError
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.manifest.output_file import output_files
from gpuc.manifest.printable import unprintable
from gpuc.pipeline.fleet_policies import FleetPolicies
from gpuc.pipeline.stages import compile_source
from gpuc.source import Source, read
from gpuc.synth.printer import Printer
from tests.customize.small import FILE, plain, write
from tests.lanes import drawn

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8), st.sampled_from(["1h", "0o17", "1_0", "<<", "l4", "vision", "", "10%"]),
)  # fmt: skip
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@cache
def source() -> Source:
    with TemporaryDirectory() as folder:
        write(Path(folder), "")
        return read(Path(folder), FILE)


def paths(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every path of a document, with a key and an item that do not exist."""
    yield path
    if isinstance(node, dict):
        yield (*path, "absent")
        for key, value in node.items():
            yield from paths(value, (*path, key))
    elif isinstance(node, list):
        yield (*path, "-")
        for index, value in enumerate(node):
            yield from paths(value, (*path, index))


def pointer(path: tuple[str | int, ...]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


@st.composite
def maps(draw: st.DrawFn, known: list[tuple[str | int, ...]]) -> dict[str, Any]:
    """A map with values at some of the paths."""
    made: dict[str, Any] = {}
    for path in draw(st.lists(st.sampled_from(known), min_size=1, max_size=3)):
        node = made
        for step in path[:-1]:
            inner = node.setdefault(str(step), {})
            node[str(step)] = node = inner if isinstance(inner, dict) else {}
        node[str(path[-1])] = draw(DATA)
    return made


@st.composite
def patches(draw: st.DrawFn) -> dict[str, Any]:
    """A patch of one object or of all objects of a kind."""
    manifests = [item for item in plain() if isinstance(item, Manifest) and "/workloads/" not in item.file]
    manifest = draw(st.sampled_from(manifests))
    target: dict[str, Any] = {"kind": manifest.kind, "name": draw(st.sampled_from([manifest.name, "*"]))}
    known = [path for path in paths(manifest.document()) if path]
    if draw(st.booleans()):
        return {"target": target, "patch": draw(maps(known))}
    operations = draw(
        st.lists(st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), min_size=1, max_size=3)
    )
    patch: list[dict[str, Any]] = []
    for name in operations:
        operation: dict[str, Any] = {"op": name, "path": pointer(draw(st.sampled_from(known)))}
        if name in ("move", "copy"):
            operation["from"] = pointer(draw(st.sampled_from(known)))
        elif name != "remove":
            operation["value"] = draw(DATA)
        patch.append(operation)
    return {"target": target, "patch": patch}


def check(section: dict[str, Any]) -> None:
    """Compiles the small cluster with more sections. Findings are in these sections, and the result can be written."""
    tree = json.loads(json.dumps(source().tree))
    tree["spec"] |= section
    printed: list[Artifact] = []
    try:
        done = compile_source(replace(source(), tree=tree, raw={}), FleetPolicies({}), send=printed.extend)
    except StageError as stop:
        assert {finding.path[:2] for finding in stop.findings} <= {("spec", key) for key in section}
        return
    assert {finding.path[:2] for finding in done.findings} <= {("spec", key) for key in section}
    for artifact in done.artifacts:
        if isinstance(artifact, Manifest | Values):
            data = artifact.body if isinstance(artifact, Values) else artifact.document()
            assert list(unprintable(data, allows_null=isinstance(artifact, Values))) == []


@drawn(60, derandomize=True)
@given(st.lists(patches(), min_size=1, max_size=3))
def test_random_patches(given_patches: list[dict[str, Any]]) -> None:
    check({"patches": given_patches})


@st.composite
def component_values(draw: st.DrawFn) -> dict[str, Any]:
    """Values at known and unknown paths of a component."""
    values = draw(st.sampled_from([item for item in plain() if isinstance(item, Values)]))
    known = [path for path in paths(values.body) if path]
    return {values.component: {"values": draw(maps(known))}}


@drawn(40, derandomize=True)
@given(component_values())
def test_random_values(components: dict[str, Any]) -> None:
    check({"components": components})


@drawn(40, derandomize=True)
@given(st.lists(DATA, min_size=1, max_size=8))
def test_everything_that_is_printable_is_printed(data: list[Any]) -> None:
    """A user must not see a bug of gpuc because of a text in a Helm value."""
    found: list[Artifact] = []
    for index, value in enumerate(data):
        body = {"value": value}
        if not list(unprintable(body, allows_null=True)):
            found.append(Values(f"out/a/{index}/values.yaml", (), "a", body))
    with Printer.start() as printer:
        printer.send(output_files(found, "specs/a.yaml").values())
        assert len(printer.texts()) == len(found)
