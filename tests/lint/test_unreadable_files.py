"""Invalid files, full disks and killed processes: every command reports a clear error and keeps existing files."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.main import main
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.load.files import SIZE_MAX_BYTES, UnreadableError, files_below, text_of
from tests.conftest import ROOT

Process = subprocess.CompletedProcess[str]
POD = """apiVersion: v1
kind: Pod
metadata: {name: a, namespace: x, labels: {kueue.x-k8s.io/queue-name: research}}
spec: {containers: [{name: c, image: i}]}
"""
CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}
"""
BOTH = f"{POD}---\n{CRD}"
LAUGHS = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
MERGED = [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12)]
STRANGE: dict[str, str | bytes] = {
    "not UTF-8": b"# caf\xe9\n" + BOTH.encode(),
    "UTF-16": b"\xff\xfe" + BOTH.encode("utf-16-le"),
    "UTF-16 the other way": b"\xfe\xff" + BOTH.encode("utf-16-be"),
    "byte order mark": b"\xef\xbb\xbf" + BOTH.encode(),
    "NUL": BOTH.replace("name: a", "name: a\0b"),
    "bell": BOTH.replace("name: a", "name: a\a"),
    "tab": BOTH.replace("spec: {", "spec:\n\tx: {"),
    "key twice": f"{BOTH}kind: Other\n",
    "billion laughs": "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x, x]", *LAUGHS]),
    "billion merges": "\n".join(["a0: &a0 {x: 1}", *MERGED]),
    "odd merges": POD.replace("{name: a", "{<<: 5, name: a").replace("spec: {", "spec: {<<: [1, [2]], "),
    "alias within itself": "apiVersion: v1\nkind: Pod\nmetadata: &m {name: a, labels: *m}\nspec: {}\n",
    "merge within itself": "apiVersion: v1\nkind: Pod\nmetadata: &m {name: a, <<: *m}\nspec: {}\n",
    "alias to nothing": "a: *nothing\n",
    "Python's tags": f"a: !!python/object/apply:os.system ['touch pwned']\n---\n{BOTH}",
    "tags of CloudFormation": "Resources: {A: {Ref: !Ref B, Sub: !Sub x, Get: !GetAtt [a, b]}}\n",
    "tags that lie": "a: !!set {b, c}\nb: !!omap [a: 1]\nc: !!binary aGk=\nd: !!int x\ne: !!float x\nf: !!bool x\n",
    "YAML 1.1": POD.replace("name: a", "name: on").replace("space: x", "space: 010").replace("image: i", "image: 1:30"),
    "huge numbers": POD.replace("spec: {", f"spec: {{priority: {'9' * 9999}, x: 0x{'f' * 5000}, y: 1e999999999, "),
    "no numbers": POD.replace("image: i", "resources: {requests: {cpu: .nan, memory: -.inf, a.b/c: 1.0e+999}}"),
    "nothing": "",
    "comments": "# one\n# two\n",
    "empty documents": "---\n---\n...\n---\n",
    "Windows": BOTH.replace("\n", "\r\n"),
    "old Macs": BOTH.replace("\n", "\r"),
    "escapes in names": BOTH.replace("name: a", 'name: "a\\e[31m\\nb\\u202ec"').replace("Pod", '"P\\e]0;x\\a"'),
    "surrogates": 'a: "\\ud800"\n',
    "twice the same": f"{BOTH}---\n{BOTH.replace('image: i', 'image: j')}",
    "kinds in lower case": BOTH.replace("kind: Pod", "kind: pod").replace("kind: Custom", "kind: custom"),
    "names that are numbers": BOTH.replace("name: a", "name: 5").replace("name: things.example.com", "name: 7"),
    "lists for maps": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: [1], annotations: x, namespace: [a]}\n",
    "odd labels": POD.replace("labels: {", "labels: {1: 2, x: [a], y: {z: 1}, ? [a, b] : c, "),
    "lists in lists": "apiVersion: v1\nkind: List\nitems: [1, null, {kind: List, items: [{a: b}]}, [x]]\n",
    "nulls": "apiVersion: null\nkind: null\nmetadata: null\n",
    "JSON lines": "\n".join(['{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}'] * 3),
    "Helm": "kind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n{{- if .Values.x }}\nspec: {}\n{{- end }}\n",
    "Jinja": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n{% if x %}\nspec: {}\n{% endif %}\n",
    "kustomization": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
    "a word": "hello\n",
    "a list": "- a\n- b\n",
    "another YAML": "%YAML 9.9\n---\na: b\n",
    "a long line": f"a: {'x' * 200_000}: y: z\n",
    "noise": bytes(range(256)) * 40,
}  # fmt: skip
"""The content of a file, by a name for the test."""


def content(name: str) -> bytes:
    made = STRANGE[name]
    return made if isinstance(made, bytes) else made.encode()


COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "lint": lambda file: ["lint", file],
    "lint as JSON": lambda file: ["lint", file, "--format", "json"],
    "trace of the file": lambda file: ["trace", "-f", file, str(Path(file).parent / "queues")],
    "trace through the file": lambda file: ["trace", "--queue", "research", "--gpus", "1", file],
    "isolation": lambda file: ["isolation", file],
    "crds import": lambda file: ["crds", "import", file, "--into", str(Path(file).parent / "into")],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a test, beside a folder that has a LocalQueue."""
    (tmp_path / "queues").mkdir()
    queue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: research, namespace: x}\nspec: {}\n"
    (tmp_path / "queues" / "q.yaml").write_text(queue)
    return tmp_path / "f.yaml"


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code and output. No command has an internal error, and no output controls the terminal."""
    code = main(words)
    out, err = capsys.readouterr()
    assert code in (0, 1, 2), err
    assert all(char.isprintable() or char == "\n" for char in out + err)
    assert code == 0 or out + err, "a failed command prints the reason"
    return code, out + err


@pytest.mark.share(4)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", STRANGE)
def test_no_content_crashes_a_command(name: str, command: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(content(name))
    run(COMMANDS[command](str(file)), capsys)
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("not UTF-8", "the text is not UTF-8: byte 0xE9 at offset 5"),
        ("UTF-16", "the encoding is UTF-16, which PowerShell writes, and not UTF-8"),
        ("NUL", "f.yaml:3:19: not YAML: the character U+0000 is not allowed"),
        ("tab", "f.yaml:5:1: not YAML: found character that cannot start any token"),
        ("key twice", 'this map has the key "kind" twice; the last value is used'),
        ("billion laughs", "the aliases of this document expand to more than 1000000 values"),
        ("billion merges", "the aliases of this document expand to more than 1000000 values"),
        ("alias within itself", "the alias *m is inside the value of its anchor"),
        ("alias to nothing", "not YAML: found undefined alias"),
        ("another YAML", "not YAML: found incompatible YAML document"),
    ],
)
def test_unreadable_parts_are_reported_with_their_line(
    name: str, message: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(content(name))
    assert message in run(COMMANDS["trace of the file"](str(file)), capsys)[1]
    assert message in run(COMMANDS["isolation"](str(file)), capsys)[1]
    code, words = run(COMMANDS["crds import"](str(file)), capsys)
    assert code == 1
    assert message.partition(";")[0] in words


NESTED = {
    "brackets": "[" * 100_000,
    "braces": "{a: " * 100_000 + "1" + "}" * 100_000,
    "dashes": "- " * 100_000 + "x\n",
    "indents": "\n".join(" " * depth + "a:" for depth in range(3000)),
}


def ran(*words: str, code: str = "", limit: tuple[int, int] = (resource.RLIMIT_AS, 2 << 30), **more: Any) -> Process:
    """A process of its own, with two GiB of memory or another limit: gpuc with these words, or other code."""
    program = ["-c", code] if code else ["-m", "gpuc.cli.main", *words]
    return subprocess.run(
        [sys.executable, *program],
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "compiler"), "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(limit[0], (limit[1], limit[1])),
        **({"capture_output": True} | more),
    )


@pytest.mark.share(4)
@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_does_not_crash_the_process(name: str, file: Path) -> None:
    file.write_text(NESTED[name])
    process = ran("lint", str(file))
    assert (process.returncode, process.stderr) == (1, "")
    assert "nested deeper than 100 levels" in process.stdout


@pytest.mark.slow
def test_large_files_are_read_in_two_gib(tmp_path: Path) -> None:
    keys = "".join(f"  k{number}: v\n" for number in range(100_000))
    (tmp_path / "long.yaml").write_text(f"{POD}data: '{'x' * 50_000_000}'\n")
    (tmp_path / "keys.yaml").write_text(f"{POD.replace('Pod', 'ConfigMap').partition('spec')[0]}data:\n{keys}")
    (tmp_path / "many.yaml").write_text(f"---\n{POD.replace('image', 'imagE')}" * 5000)
    process = ran("lint", str(tmp_path), "--format", "json")
    assert process.returncode == 1
    found = {finding["line"] for finding in json.loads(process.stdout)["findings"] if finding["id"] == "SCH001"}
    assert len(found) == 5000, "every finding has a line of its own"


def test_streams_of_json_are_read_as_kubectl_does(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"},\n "spec": {}}'
    file.write_text(f"{bad.replace('spec', 'status')}{bad}  {bad}\n{{}}")
    assert main(["lint", str(file), "--format", "json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    places = [(finding["line"], finding["column"]) for finding in findings if "spec.containers" in finding["message"]]
    assert places == [(1, 1), (3, 10), (4, 10)]


def test_a_name_that_yaml_does_not_read_as_text_is_reported(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(POD.replace("name: a", "name: on"))
    code, message = run(["lint", str(file)], capsys)
    assert code == 1
    assert "f.yaml:3:18" in message
    assert "YAML reads the name of this Pod as true, not as a string: put the name in quotes" in message


def test_a_long_value_is_shortened_in_messages(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(STRANGE["huge numbers"].replace("999", "987"))  # type: ignore[arg-type]
    assert main(["lint", str(file), "--format", "json"]) == 1
    messages = [finding["message"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert any("spec.priority" in message for message in messages)
    assert max(map(len, messages)) < 1000


def test_paths_that_are_not_regular_files_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    os.mkfifo(tree / "a-pipe.yaml")
    (tree / "b-device.yaml").symlink_to("/dev/zero")
    (tree / "c-nowhere.yaml").symlink_to("nowhere")
    (tree / "d-itself.yaml").symlink_to("d-itself.yaml")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tree / "e-socket.yaml"))
    (tree / "f-folder.yaml").mkdir()
    (tree / "loop").symlink_to(".")
    (tree / "g.yaml").write_text(POD)
    assert main(["lint", str(tree), "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    message = {Path(finding["file"]).stem: finding["message"].partition(": ")[2] for finding in report["findings"]}
    assert message == {
        "a-pipe": "the path is a pipe that no process writes to",
        "b-device": "the path is a device",
        "c-nowhere": "No such file or directory",
        "d-itself": "Too many levels of symbolic links",
        "e-socket": "No such device or address",
    }


def test_a_pipe_is_read_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, POD.encode())
    os.close(writing)
    assert main(["lint", f"/dev/fd/{reading}"]) == 0
    os.close(reading)
    assert "1 object: no findings" in capsys.readouterr().out


@pytest.mark.slow
def test_an_unreadable_file_has_an_error_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="Is a directory"):
        text_of(str(tmp_path))
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as stream:
        stream.truncate(SIZE_MAX_BYTES + 1)
    with pytest.raises(UnreadableError, match="larger than 256 MiB"):
        text_of(str(huge))
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(UsageError, match="link is a link to a missing file"):
        list(files_below(str(tmp_path / "link")))
    gone = tmp_path / "gone.yaml"
    gone.write_text(POD)
    (file,) = (path for path in files_below(str(tmp_path)) if path.endswith("gone.yaml"))
    gone.unlink()
    with pytest.raises(UnreadableError, match="No such file"):
        text_of(file)


def test_a_folder_without_read_permission_is_reported(tmp_path: Path) -> None:
    """The child process runs without the rights of root, because root can open every folder."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    (tmp_path / "f.yaml").write_text(POD)
    for folder in (tmp_path, *tmp_path.parents):
        if os.access(folder, os.W_OK) and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
        if folder == Path("/tmp"):
            break
    number = os.fork()
    if number == 0:
        if os.geteuid() == 0:
            os.setuid(65534)
        os._exit(0 if [str(closed)] == [path for path in files_below(str(tmp_path)) if "closed" in path] else 1)
    assert os.waitpid(number, 0)[1] == 0
    closed.chmod(0o700)


def test_control_characters_in_file_names_are_escaped(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))  # where `crds import` writes without --into
    (tmp_path / "a\x1b[31m\nb\u202e.yaml").write_text("a: [\n")
    (tmp_path / os.fsdecode(b"f\xff.yaml")).write_text("a: [\n")
    for words in (["lint", str(tmp_path)], ["isolation", str(tmp_path)], ["crds", "import", str(tmp_path)]):
        code, message = run(words, capsys)
        assert code in (1, 2)
        assert "\\x1b[31m" in message
        assert "\\udcff" in message
    main(["lint", str(tmp_path), "--format", "json"])
    assert {finding["id"] for finding in json.loads(capsys.readouterr().out)["findings"]} == {"LNT001"}


@pytest.mark.share(6)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_stdout_is_not_an_error(command: str, file: Path) -> None:
    file.write_text(BOTH)
    reading, writing = os.pipe()
    os.close(reading)
    process = ran(*COMMANDS[command](str(file)), capture_output=False, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert process.returncode in (0, 1, 2)
    assert "internal error" not in process.stderr


@pytest.mark.share(3)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", ["lint", "trace of the file", "crds import"])
def test_a_full_disk_behind_stdout_is_reported(command: str, file: Path) -> None:
    file.write_text(BOTH)
    with Path("/dev/full").open("w") as full:
        process = ran(*COMMANDS[command](str(file)), capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert process.returncode == 3
    assert process.stderr.startswith("gpuc: cannot continue: No space left on device")


def definitions(count: int, field: str) -> str:
    made = [CRD.replace("Thing", f"Thing{number}").replace("things", f"things{number}") for number in range(count)]
    return "---\n".join(text.replace("{a:", f"{{{field}:") for text in made)


def tables(into: Path) -> dict[str, str]:
    """All tables by name; every table is complete."""
    found = {path.name: path.read_text() for path in sorted(into.rglob("*.json"))}
    assert all("schema" in json.loads(text) for text in found.values())
    return found


FAULTY = """
    import os, signal, sys
    from gpuc.write import filesystem
    from gpuc.cli.main import main
    left = {left}
    def change(verb, path):
        global left
        left -= 1
        if left == -1:
            {fault}
    filesystem.before_change = change
    sys.exit(main({words!r}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 1, 4, 9, 13, 14, 16, 19])
@pytest.mark.parametrize(
    "fault", ["os.kill(os.getpid(), signal.SIGKILL)", "raise OSError(28, 'No space left on device')"]
)
def test_an_import_that_is_interrupted_leaves_every_table_complete(left: int, fault: str, file: Path) -> None:
    into = file.parent / "into"
    file.write_text(definitions(5, "old"))
    assert ran("crds", "import", str(file), "--into", str(into)).returncode == 0
    before = tables(into)
    file.write_text(definitions(5, "new"))
    words = ["crds", "import", str(file), "--into", str(into)]
    program = textwrap.dedent(FAULTY).format(left=left, fault=fault, words=words)
    process = ran(code=program)
    after = tables(into)
    assert after.keys() == before.keys()
    if "KILL" in fault:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 2
        assert "cannot be written: No space left on device" in process.stderr
        assert [path for path in into.rglob("*") if path.suffix == ".gpuc-new"] == []
    if left < 15:
        assert after == before, "nothing is replaced before everything is written"
    assert ran(*words).returncode == 0
    assert all('"new"' in text for text in tables(into).values())
    assert not [path for path in into.rglob("*") if path.is_file() and path.suffix != ".json"]


def test_a_disk_that_is_full_leaves_the_old_tables(file: Path) -> None:
    into = file.parent / "into"
    file.write_text(CRD)
    assert ran("crds", "import", str(file), "--into", str(into)).returncode == 0
    before = tables(into)
    file.write_text(definitions(1, "x" * 200) + "---\n" + CRD.replace("{a:", "{b:"))
    process = ran("crds", "import", str(file), "--into", str(into), limit=(resource.RLIMIT_FSIZE, 50))
    assert process.returncode == 2
    assert "cannot be written: File too large" in process.stderr
    assert tables(into) == before


def test_a_target_that_cannot_be_written_is_reported(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(CRD)
    into = file.parent / "into"
    into.write_text("a file")
    assert main(["crds", "import", str(file), "--into", str(into)]) == 2
    assert "into cannot be written: " in capsys.readouterr().err
    into.unlink()
    into.mkdir()
    (into / "example.com").symlink_to(file.parent)
    assert main(["crds", "import", str(file), "--into", str(into)]) == 2
    assert "example.com is a link, or a file where a folder is expected" in capsys.readouterr().err


@pytest.mark.slow
def test_two_imports_at_once_both_succeed(file: Path) -> None:
    into = file.parent / "into"
    file.write_text(definitions(100, "same"))
    words = [sys.executable, "-m", "gpuc.cli.main", "crds", "import", str(file), "--into", str(into)]
    several = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    counted = sorted(process.communicate()[0].partition("/: ")[2].strip() for process in several)
    assert counted == ["0 new, 0 changed", "0 new, 0 changed", "100 new, 0 changed"]
    assert len(tables(into)) == 100
