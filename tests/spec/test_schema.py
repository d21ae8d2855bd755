"""The JSON Schema for editors: valid for all parts of a spec, and strict where no layer can have the other keys."""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from ruamel.yaml import YAML

from gpuc.cli.init import schema_text
from gpuc.cli.main import main
from gpuc.diagnostics.finding import DeclarationError, StageError
from gpuc.diagnostics.free_form import is_free_form
from gpuc.source import read, yaml_files
from gpuc.spec.layered_schema import layered
from gpuc.spec.parse import parse
from tests.conftest import CUSTOM, HUB, MACHINES, ROOT
from tests.lanes import drawn
from tests.messages.run import FLEET, SPEC, cases, place

SCHEMA = json.loads(schema_text())
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)
FILES = [(root, file) for root in (ROOT, HUB, CUSTOM, MACHINES, FLEET) for file in yaml_files(root)]
CLUSTERS = [(ROOT, "specs/prod-use1.yaml"), (HUB, "specs/vega-prod.yaml"), (CUSTOM, "specs/custom-euc1.yaml")]
Keys = tuple[str, ...]


def errors(document: Any) -> set[tuple[Any, ...]]:
    """The paths at which a file is not valid."""
    return {tuple(error.instance_path) for error in VALIDATOR.iter_errors(document)}


def loaded(file: Path) -> Any:
    """The content of a YAML file."""
    return YAML(typ="safe").load(file.read_text(encoding="utf-8"))


@cache
def merged(root: Path, file: str) -> Any:
    """The merged spec of a cluster, as a cluster without layers."""
    return read(root, file).tree


def keys(value: Any, path: Keys = ()) -> Iterator[Keys]:
    """The paths of all keys below a map that are not in a list, not in Helm values and not in patches."""
    if isinstance(value, dict) and not is_free_form(path):
        for key, child in value.items():
            yield (*path, key)
            yield from keys(child, (*path, key))


def at(document: Any, path: Keys) -> Any:
    """The map that has the last key of the path."""
    for key in path[:-1]:
        document = document[key]
    return document


def write(root: Path, **documents: Any) -> None:
    """Writes spec files; JSON is YAML."""
    (root / "specs").mkdir(exist_ok=True)
    for name, document in documents.items():
        (root / f"specs/{name}.yaml").write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize(("root", "file"), FILES, ids=[file for _, file in FILES])
def test_committed_clusters_and_layers_are_valid(root: Path, file: str) -> None:
    assert errors(loaded(root / file)) == set()


def test_the_files_of_init_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "fleet", "--requirement", "gpuc==0.1.0"]) == 0
    files = yaml_files(tmp_path / "fleet")
    assert files
    assert {file: errors(loaded(tmp_path / "fleet" / file)) for file in files} == {file: set() for file in files}


def split(value: Any, random: Random, path: Keys = ()) -> tuple[Any, Any]:
    """A layer and an overriding file whose merged value is the value."""
    layer, upper = {}, {}
    for key, child in value.items():
        places = ["layer", "upper", "both"]
        if isinstance(child, dict) and child and not is_free_form((*path, key)):
            places += ["split"] * 4
        place = random.choice(places)
        if place == "split":
            layer[key], upper[key] = split(child, random, (*path, key))
        if place in ("layer", "both"):
            layer[key] = child
        if place in ("upper", "both"):
            upper[key] = child
    return layer, upper


@pytest.mark.share(3)
@pytest.mark.parametrize(("root", "file"), CLUSTERS, ids=[file for _, file in CLUSTERS])
@drawn(25)
@given(seed=st.integers(0, 2**32))
def test_the_parts_of_a_spec_are_valid_in_any_layer(root: Path, file: str, seed: int) -> None:
    whole = merged(root, file)
    name = whole["metadata"]["name"]
    head = {"apiVersion": whole["apiVersion"]}
    random = Random(seed)
    rest, upper = split(whole["spec"], random, ("spec",))
    lower, middle = split(rest, random, ("spec",))
    documents = {
        "lower": {**head, "kind": "Layer", "spec": lower},
        "middle": {**head, "kind": "Layer", "extends": ["lower.yaml"], "spec": middle},
        name: {
            **head,
            "kind": "Cluster",
            "metadata": whole["metadata"],
            "extends": ["middle.yaml"],
            "spec": upper,
        },
    }
    assert {layer: errors(document) for layer, document in documents.items()} == {layer: set() for layer in documents}
    with TemporaryDirectory() as folder:
        write(Path(folder), **documents)
        source = read(Path(folder), f"specs/{name}.yaml")
        assert source.tree == whole
        parse(source)


@pytest.mark.parametrize(("root", "file"), CLUSTERS, ids=[file for _, file in CLUSTERS])
def test_null_is_valid_with_layers(root: Path, file: str) -> None:
    whole = merged(root, file)
    refused = []
    for path in keys(whole["spec"], ("spec",)):
        part: Any = None
        for key in reversed(path):
            part = {key: part}
        if errors({**whole, "extends": ["layer.yaml"], **part}):
            refused.append(path)
    assert refused == []


def test_a_cluster_removes_a_key_of_a_layer_with_null(tmp_path: Path) -> None:
    whole = merged(FLEET, SPEC)
    layer = {"apiVersion": whole["apiVersion"], "kind": "Layer", "spec": whole["spec"]}
    cluster = {**whole, "extends": ["layer.yaml"], "spec": {"queues": {"vision": None}, "tenants": {"vision": None}}}
    assert errors(layer) == errors(cluster) == set()
    write(tmp_path, layer=layer, orion=cluster)
    assert set(parse(read(tmp_path, SPEC)).spec.queues) == {"nlp", "api"}


@pytest.mark.parametrize(("root", "file"), CLUSTERS, ids=[file for _, file in CLUSTERS])
def test_null_is_an_error_without_layers(root: Path, file: str) -> None:
    whole = merged(root, file)
    assert errors(whole) == set()
    accepted = []
    for path in keys(whole["spec"], ("spec",)):
        document = deepcopy(whole)
        at(document, path)[path[-1]] = None
        if path not in errors(document):
            accepted.append(path)
    assert [path for path in accepted if not is_free_form(path)] == []


def test_null_is_a_value_in_helm_values_and_patches() -> None:
    document = deepcopy(merged(FLEET, SPEC))
    target = {"kind": "Namespace", "name": "gpu-operator"}
    document["spec"]["components"] = {"kueue": {"values": {"a": None, "b": [None]}}}
    document["spec"]["patches"] = [
        {"target": target, "patch": {"metadata": None}},
        {"target": target, "patch": [{"op": "add", "path": "/metadata/labels/a", "value": None}]},
    ]
    assert errors(document) == set()


@pytest.mark.parametrize("kind", ["Layer", "Cluster"])
def test_a_list_is_complete_in_every_file(kind: str) -> None:
    egress = [{"cidr": "10.0.0.0/8", "why": None}]
    document: dict[str, Any] = {"apiVersion": "gpuc.dev/v1alpha1", "kind": kind, "extends": ["a.yaml"]}
    if kind == "Cluster":
        document["metadata"] = {"name": "orion"}
    document["spec"] = {"tenants": {"nlp": {"network": {"egress": egress}}}}
    entry = ("spec", "tenants", "nlp", "network", "egress", 0)
    assert errors(document) == {entry, (*entry, "why")}


def test_a_layer_has_no_metadata_and_a_cluster_has_a_name() -> None:
    layer = {"apiVersion": "gpuc.dev/v1alpha1", "kind": "Layer", "spec": {}}
    assert errors(layer) == set()
    assert errors({**layer, "metadata": {"name": "base"}}) == {("metadata",)}
    cluster = {**layer, "kind": "Cluster", "extends": ["base.yaml"]}
    assert errors(cluster) == {()}
    assert errors({**cluster, "metadata": {}}) == {("metadata",)}


@pytest.mark.share(3)
@pytest.mark.parametrize(("root", "file"), CLUSTERS, ids=[file for _, file in CLUSTERS])
def test_a_key_that_gpuc_requires_is_required_without_layers(root: Path, file: str) -> None:
    source = read(root, file)
    for path in keys(source.tree["spec"], ("spec",)):
        document = deepcopy(source.tree)
        del at(document, path)[path[-1]]
        missing = errors(document)
        try:
            parse(replace(source, tree=document))
        except StageError as error:
            rules = {finding.id for finding in error.findings}
            assert bool(missing) >= ("SPC002" in rules), path
        else:
            assert missing == set(), path


FOUND = (
    "01", "03", "04", "05", "06", "08", "09", "15", "19", "20", "36", "38", "46", "47", "61", "62", "65", "71", "72c",
    "79", "82", "83", "85", "88", "90", "98", "100", "101", "115", "116", "119", "120", "122", "root volume",
)  # fmt: skip
"""Cases whose mistake an editor shows with the schema alone."""


@pytest.mark.share(4)
@pytest.mark.parametrize("number", FOUND)
def test_an_editor_shows_the_mistake(number: str, tmp_path: Path) -> None:
    case = next(case for case in cases() if case.number == number)
    place(case, tmp_path / "fleet")
    files = yaml_files(tmp_path / "fleet")
    assert any(errors(loaded(tmp_path / "fleet" / file)) for file in files)


def test_a_wrong_text_is_described_in_words() -> None:
    zone = SCHEMA["$defs"]["Pool"]["properties"]["zones"]["items"]
    assert zone["errorMessage"] == "expected the name of a zone such as us-east-1a, not its id"


def test_two_maps_as_alternatives_with_required_keys_are_refused() -> None:
    definitions = {
        "Spec": {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]},
        "Metadata": {"type": "object"},
    }
    with pytest.raises(DeclarationError, match="two alternatives of the schema require keys"):
        layered({"$defs": definitions, "properties": {}})
