"""`python -m tests.messages --write` writes all answers into breaks.yaml; `--show NUMBER...` prints answers."""

import argparse
import tempfile
from pathlib import Path

from ruamel.yaml.scalarstring import LiteralScalarString

from tests.messages.run import CASES, Case, answer, cases, entries, place


def run(case: Case) -> tuple[int, str]:
    """The exit code and the answer to a case."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "fleet"
        place(case, folder)
        return answer(case, folder)


def write() -> None:
    """Writes the exit code and the answer of every case, and prints the numbers of changed cases."""
    yaml, listed = entries()
    for entry, case in zip(listed, cases(), strict=True):
        code, text = run(case)
        if (code, text) != (case.exit, case.answer):
            print(f"changed: {case.number}")
        entry["exit"], entry["answer"] = code, LiteralScalarString(text)
    with CASES.open("w", encoding="utf-8") as file:
        yaml.dump(listed, file)


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.messages", description=__doc__)
    options = parser.add_mutually_exclusive_group(required=True)
    options.add_argument("--write", action="store_true", help="write all answers into breaks.yaml")
    options.add_argument("--show", nargs="+", metavar="NUMBER", help="print the answers to these cases")
    arguments = parser.parse_args()
    if arguments.write:
        write()
        return
    for case in cases():
        if case.number in arguments.show:
            print(f"{case.number} {case.what} (before: {case.before})\n{run(case)[1]}")


if __name__ == "__main__":
    main()
