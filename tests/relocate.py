"""Moves fields of files with several documents to their new places: `python -m tests.relocate FILE...`.

The case files of rules have several documents, and `gpuc fix` changes only specs.
"""

import re
import sys
from pathlib import Path

from gpuc.source.relocation import relocated

_separator = re.compile(r"^(---(?:[ \t][^\r\n]*)?\r?\n)", re.MULTILINE)


def relocated_documents(text: str, file: str) -> str:
    """Documents that gpuc cannot change stay as they are."""
    parts = _separator.split(text)
    return "".join(part if index % 2 else relocated(part, file) or part for index, part in enumerate(parts))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_bytes(relocated_documents(path.read_bytes().decode(), name).encode())
