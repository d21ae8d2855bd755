"""Pull requests on the example fleet, and the comments that `gpuc plan` writes about them.

Each file in pull_requests/ describes a change as people make it: replaced texts, maps that are merged into specs, new
and removed files, and perhaps another state before. The comment has the same name and the suffix .md. To write the
comments after a change of gpuc, and then read them as the reviewer who has to decide:
python -m tests.plan.example_pull_requests
"""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from ruamel.yaml import YAML

from gpuc.cli.main import main
from tests.conftest import ROOT
from tests.plan.repository import Fleet, fleet, machines

FOLDER = Path(__file__).parent / "pull_requests"
CLUSTERS = ("prod-use1", "infer-euw1", "train-usw2")
_COMMIT = re.compile(r"[0-9a-f]{12} \(main\)")


@dataclass(frozen=True)
class PullRequest:
    """A change of the example fleet."""

    name: str
    title: str
    before: tuple[Mapping[str, Any], ...]
    """Edits that the state before already has."""
    change: tuple[Mapping[str, Any], ...]
    workloads: str
    """The objects that run in the cluster; empty for none."""
    is_of_machines: bool
    """Whether the pull request is for the fleet examples/machines."""

    @property
    def comment(self) -> Path:
        """The file with the comment."""
        return FOLDER / f"{self.name}.md"


def pull_requests() -> list[PullRequest]:
    """All pull requests, by name."""
    found = []
    for file in sorted(FOLDER.glob("*.yaml")):
        row = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
        before, change = (tuple(row.get(key, ())) for key in ("before", "change"))
        found.append(
            PullRequest(
                file.stem, row["title"], before, change, row.get("workloads", ""), row.get("fleet") == "machines"
            )
        )
    return found


def comment_of(request: PullRequest, folder: Path) -> tuple[str, str]:
    """The comment about a pull request, and the JSON report."""
    repository = machines(folder / "fleet") if request.is_of_machines else fleet(folder / "fleet", *CLUSTERS)
    if request.before:
        apply_edits(repository.root, request.before)
        _run(repository, "compile", "--quiet")
        repository.commit("The state before")
    apply_edits(repository.root, request.change)
    arguments = ["plan", "--against", "main"]
    for form in ("markdown", "json"):
        arguments += ["--output", f"{form}={folder / form}"]
    if request.workloads:
        (folder / "workloads").mkdir()
        (folder / "workloads/objects.yaml").write_text(request.workloads, encoding="utf-8")
        arguments += ["--workloads", str(folder / "workloads")]
    _run(repository, *arguments)
    markdown, report = ((folder / form).read_text(encoding="utf-8") for form in ("markdown", "json"))
    return _COMMIT.sub("main", markdown), report


def apply_edits(root: Path, edits: Iterable[Mapping[str, Any]]) -> None:
    """Makes the edits of a pull request in a fleet."""
    for edit in edits:
        file = root / edit["file"]
        if "text" in edit:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(edit["text"], encoding="utf-8")
        elif edit.get("remove"):
            file.unlink()
        elif edit.get("restore"):
            file.write_text((ROOT / edit["file"]).read_text(encoding="utf-8"), encoding="utf-8")
        elif "merge" in edit:
            _merge_file(file, edit["merge"])
        else:
            text = file.read_text(encoding="utf-8")
            assert text.count(edit["old"]) == 1, f"{edit['file']} has {text.count(edit['old'])} x {edit['old']!r}"
            file.write_text(text.replace(edit["old"], edit["new"]), encoding="utf-8")


def _merge_file(file: Path, layer: Mapping[str, Any]) -> None:
    """Merges a map into a spec, with its comments. None removes a key."""
    editor = YAML()
    editor.width, editor.preserve_quotes = 4096, True
    editor.indent(mapping=2, sequence=4, offset=2)
    document = editor.load(file)
    _merge(document, layer)
    with file.open("w", encoding="utf-8") as stream:
        editor.dump(document, stream)


def _merge(node: Any, layer: Mapping[str, Any]) -> None:
    for key, value in layer.items():
        if value is None:
            del node[key]
        elif isinstance(value, dict) and isinstance(node.get(key), dict):
            _merge(node[key], value)
        else:
            node[key] = value


def _run(repository: Fleet, *arguments: str) -> None:
    printed = StringIO()
    with chdir(repository.root), redirect_stdout(printed), redirect_stderr(printed):
        code = main(list(arguments))
    assert code == 0, printed.getvalue()


if __name__ == "__main__":
    names = set(sys.argv[1:])
    for request in pull_requests():
        if not names or request.name in names:
            with TemporaryDirectory() as temporary:
                request.comment.write_text(comment_of(request, Path(os.path.realpath(temporary)))[0], encoding="utf-8")
            print(request.name)
