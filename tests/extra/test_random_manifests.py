"""No file in the folder of manifests ends a compile with a traceback, and gpuc prints only what it can print."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from gpuc.catalog import load
from gpuc.diagnostics.finding import StageError
from gpuc.extra.files import ManifestFile, ManifestFiles
from gpuc.manifest.manifest import Manifest, Written
from gpuc.manifest.output_file import output_files
from gpuc.manifest.printable import unprintable
from gpuc.pipeline.fleet_policies import FleetPolicies
from gpuc.pipeline.stages import compile_source
from gpuc.source import Source, read
from gpuc.synth.printer import Printer
from tests.extra.fleet import FOLDER, SPEC, write_fleet
from tests.lanes import drawn
from tests.values import changed, paths, without

OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all(Path(__file__).with_name("random_manifests.yaml").read_text()))
ODD = st.sampled_from([
    None, True, 0, -1, 2**60, 1.5, "", "a", "on", "0o17", "<<", "{{ a }}", "\x85", "a\u2028b", [], {}, [[]],
    {"a": None},
])  # fmt: skip


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A manifest with some changed, removed or repeated values, and perhaps with changed characters."""
    documents = []
    for _ in range(draw(st.integers(1, 3))):
        data = draw(st.sampled_from(OBJECTS))
        for _ in range(draw(st.integers(0, 3))):
            known = list(paths(data))
            if not known:
                break
            path = draw(st.sampled_from(known))
            data = changed(data, path, draw(ODD)) if draw(st.booleans()) else without(data, path)
        documents.append(json.dumps(data) if draw(st.booleans()) else yaml.safe_dump(data))
    text = "\n---\n".join(documents)
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(text)))
        sign = draw(st.sampled_from(["&a ", "*a", "!x ", "- ", ": ", "\n", "{", "]", '"', "?", "%", "---\n"]))
        text = text[:place] + sign + text[place:]
    return text


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return read(write_fleet(tmp_path_factory.mktemp("fleet") / "fleet"), SPEC)


@drawn(150, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts(), tenant=st.sampled_from(["", "search"]))
def test_every_text_is_compiled_or_has_findings(source: Source, text: str, tenant: str) -> None:
    load()
    file = ManifestFile(f"{FOLDER}/{tenant}/a.yaml", tenant, text)
    try:
        spec = compile_source(source, FleetPolicies({}), files=ManifestFiles([file]))
    except StageError as stop:
        assert all(finding.mark or finding.path for finding in stop.findings)
        return
    own = {"search", "search-lab"}
    for manifest in spec.objects if tenant else ():
        assert not manifest.written or manifest.namespace in own
    with Printer() as printer:
        printer.send(output_files([manifest for manifest in spec.objects if manifest.written], SPEC).values())
        printer.texts()


@pytest.mark.slow
@drawn(200, derandomize=True)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.integers(-1000, 1000).map(lambda number: number / 8)
        | st.text(max_size=8) | st.from_regex(r"\A[-+]?[0-9_.oxeb]{1,6}\Z"),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=8,
    )
)  # fmt: skip
def test_printed_values_are_read_as_the_same_values(value: Any) -> None:
    """PyYAML reads YAML 1.1, as kubectl does."""
    document = {"data": value}
    if any(unprintable(document)):
        return
    manifest = Manifest(
        "a.yaml", (), "v1", "ConfigMap", "a", {}, written=Written("a.yaml", document, lambda path, key: None)
    )  # type: ignore[arg-type, return-value]
    with Printer() as printer:
        printer.send(output_files([manifest], SPEC).values())
        (text,) = printer.texts().values()
    assert yaml.safe_load(text) == document
