"""`python -m tests.derive.policies` checks the folders in policies/ and writes the tables of the policy library."""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuc.documents.reader import load_yaml
from gpuc.policy.examples import created_titles
from gpuc.policy.folder import check_policy_file
from gpuc.policy.library import EXAMPLES, TABLE, VERDICTS

SOURCES = Path(__file__).parents[2] / "policies"
"""The policy folders of the library."""


def table_text() -> str:
    """Returns the text of library.json, with one policy on each line, from the folders in SOURCES."""
    files = sorted(SOURCES.glob("*/policy.yaml"))
    policies = {file.parent.name: read_yaml(file) for file in files}
    digests = {file.parent.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    parts = [f'"subjects": {json.dumps(read_yaml(SOURCES / "subjects.yaml"))}']
    parts += [f'"{key}": {_rows(rows)}' for key, rows in (("policies", policies), ("digests", digests))]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def examples_text() -> str:
    """Returns the text of examples.json, with one policy on each line, from the folders in SOURCES."""
    rows: dict[str, dict[str, str]] = {}
    for file in sorted(SOURCES.glob("*/policy.yaml")):
        texts = {verdict: file.with_name(f"{verdict}.yaml").read_text(encoding="utf-8") for verdict in VERDICTS}
        rows[file.parent.name] = texts
    return _rows(rows) + "\n"


def _rows(entries: dict[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in entries.items()) + "\n}"


def library_errors(sources: Path) -> Iterator[str]:
    """Yields a sentence for each mistake in the folders of the library policies.

    Args:
        sources: the folder that contains subjects.yaml and the folders of the policies.
    """
    subjects = read_yaml(sources / "subjects.yaml")
    for folder in sorted(entry for entry in sources.iterdir() if entry.is_dir()):
        files = ("policy.yaml", *(f"{verdict}.yaml" for verdict in VERDICTS))
        missing = [file for file in files if not (folder / file).is_file()]
        yield from (f"policies/{folder.name}/{file} is missing" for file in missing)
        if not missing:
            denied = created_titles((folder / "denied.yaml").read_text(encoding="utf-8"))
            text = (folder / "policy.yaml").read_text(encoding="utf-8")
            _, findings = check_policy_file(text, f"policies/{folder.name}/policy.yaml", subjects, denied)
            yield from (f"{finding.mark}: {finding.message}" for finding in findings)


def read_yaml(file: Path) -> dict[str, Any]:
    """Returns the document of a YAML file of this repository."""
    document: dict[str, Any] = load_yaml(file.read_text(encoding="utf-8"))
    return document


if __name__ == "__main__":
    if found := list(library_errors(SOURCES)):
        sys.exit("\n".join(found))
    TABLE.write_text(table_text(), encoding="utf-8")
    EXAMPLES.write_text(examples_text(), encoding="utf-8")
