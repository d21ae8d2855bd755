"""Findings of the checks of one topic in YAML texts: the files in cases/.

A file has `objects` (texts by name, see tests/lint/texts.py) and `cases`. A case is `of` some of these objects: a name,
or a name with the values of its places and with parts of its text that are replaced; `files` are such lists by file.
`values` is a text with the values of the GPU operator's chart, `values_files` are the names of files with values.
`partial` and `complete` are the findings in partial and in complete input, `finds` those in both: the rule, the object,
and the fix in parentheses. `says` are parts of the messages, `at` are the paths of the findings. `only` and `without`
select the rules that a file is about, `topic` the folder of its checks.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from gpuc.diagnostics.place import place
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from tests.lint.checks.topics import findings_of, references
from tests.lint.texts import texts
from tests.tables import table

FILES = {path.stem: table(str(path), path.name) for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))}


def rows() -> Iterator[Any]:
    """Yields the content of the file and the case of every case, for pytest."""
    for file, content in FILES.items():
        for title, cases in content["cases"].items():
            for number, case in enumerate(cases):
                yield pytest.param(content, case, id=f"{file}: {title} {number}")


def findings(content: Mapping[str, Any], case: Mapping[str, Any], *, is_complete: bool) -> list[ObjectFinding]:
    """The findings of a case about the rules of its file."""
    reading = LoadedFiles()
    for name, parts in (case["files"] if "files" in case else {"a.yaml": case["of"]}).items():
        reading.add(name, "\n---\n".join(map(dedent, texts(content["objects"], parts))))
    assert reading.findings == []
    values = (
        {"gpu-operator": yaml.safe_load(texts(content["objects"], [case["values"]])[0])} if "values" in case else None
    )
    objects = ObjectSet(reading.manifests, is_complete=is_complete, values=values, value_files=case.get("values_files"))
    found = findings_of(content["topic"], objects) if "topic" in content else references(objects)
    return [
        finding
        for finding in found
        if finding.rule.id in content.get("only", [finding.rule.id])
        and finding.rule.id not in content.get("without", [])
    ]


@pytest.mark.share(3)
@pytest.mark.parametrize(("content", "case"), list(rows()))
def test_findings_are_those_of_the_case(content: Mapping[str, Any], case: Mapping[str, Any]) -> None:
    for key, is_complete in (("partial", False), ("complete", True), ("finds", False), ("finds", True)):
        if key in case:
            found = findings(content, case, is_complete=is_complete)
            shown = [f"{row.rule.id} {row.manifest}{f' ({row.fix})' if row.fix else ''}" for row in found]
            assert shown == case[key], f"{key}: {case.get('why', '')}"
            if found:
                assert [place(row.path) for row in found] == case.get("at", [place(row.path) for row in found])
                messages = "\n".join(row.message for row in found)
                assert [part for part in case.get("says", []) if part not in messages] == []
