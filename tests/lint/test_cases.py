"""`gpuc lint` of the folders in cases/.

A file has `texts` by name (see tests/lint/texts.py) and `cases`. A case has `files`; a file is a text, or a list of its
parts: a name of a text begins a document, another text continues it. `of` are the parts of a.yaml. `options` are those
of the command. The expected findings are `finds` (rule, file, line and column), `rules`, or `graded` (rules with
their severities, without infos). `says` are parts of the messages and fixes, `unchecked` are parts of the list of what
is not checked, and `checked` are not.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.main import main
from tests.lint.texts import filled
from tests.tables import table

FOLDER = Path(__file__).parent / "cases"
FILES = {file.stem: table(str(file), file.name) for file in sorted(FOLDER.iterdir())}


def file_text(texts: dict[str, str], parts: Any) -> str:
    """The text of a file of a case."""
    made = ""
    for part in parts if isinstance(parts, list) else [parts]:
        name, changes = next(iter(part.items())) if isinstance(part, dict) else (part, {})
        made += ("---\n" if made else "") + filled(texts[name], changes) if name in texts else name
    return made


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("texts", "case"),
    [
        pytest.param(content.get("texts", {}), case, id=f"{file}: {title} {number}")
        for file, content in FILES.items()
        for title, cases in content["cases"].items()
        for number, case in enumerate(cases)
    ],
)
def test_findings_are_those_of_the_case(
    texts: dict[str, str], case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, parts in case.get("files", {"a.yaml": case.get("of")}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(file_text(texts, parts), encoding="utf-8")
    code = main(["lint", str(tmp_path), "--format", "json", *case.get("options", [])])
    report = json.loads(capsys.readouterr().out)
    found = report["findings"]
    assert code == int(any(row["severity"] == "error" for row in found))
    seen = {
        "finds": [f"{row['id']} {Path(row['file']).name}:{row['line']}:{row['column']}" for row in found],
        "rules": [row["id"] for row in found],
        "graded": [f"{row['id']} {row['severity']}" for row in found if row["severity"] != "info"],
    }
    for key in seen.keys() & case.keys():
        ignored = ("REF060", "REF061") if key == "graded" else ()
        assert [row for row in seen[key] if not row.startswith(ignored)] == case[key], case.get("why", "")
    messages = "\n".join(f"{row['message']}; {row['fix']}" for row in found)
    unchecked = "\n".join(report["unchecked"])
    assert [part for part in case.get("says", []) if part not in messages] == []
    assert [part for part in case.get("unchecked", []) if part not in unchecked] == []
    assert [part for part in case.get("checked", []) if part in unchecked] == []
    assert report["unchecked"] == [] or not case.get("all_is_checked")
