"""`gpuc init`: creates a fleet repository from the files in template/ and the JSON Schema of the spec."""

from __future__ import annotations

import json
from pathlib import Path

from gpuc.diagnostics.usage import UsageError

TEMPLATE = Path(__file__).parent / "template"
SCHEMA_FILE = "gpuc.schema.json"


def write_fleet(directory: Path) -> list[str]:
    """Writes the files of a new fleet repository and returns their paths, relative to the directory.

    Raises:
        UsageError: when one of the files already exists. Then no file is written.
    """
    texts = {file: (TEMPLATE / file).read_text("utf-8") for file in template_files()}
    texts[SCHEMA_FILE] = schema_text()
    existing = [file for file in sorted(texts) if (directory / file).exists() or (directory / file).is_symlink()]
    if existing:
        raise UsageError(f"{directory} already contains {', '.join(existing)}: no file was written")
    for file, text in sorted(texts.items()):
        _create(directory, file, text)
    return sorted(texts)


def template_files() -> list[str]:
    """Returns the paths of the files in template/, relative to template/."""
    files = (path for path in TEMPLATE.rglob("*") if path.is_file())
    return sorted(path.relative_to(TEMPLATE).as_posix() for path in files)


def schema_text() -> str:
    """Returns the JSON Schema of the spec language as text."""
    from gpuc.spec.schema import json_schema

    return json.dumps(json_schema(), indent=2) + "\n"


def _create(directory: Path, file: str, text: str) -> None:
    path = directory / file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
