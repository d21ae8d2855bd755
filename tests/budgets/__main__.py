"""`python -m tests.budgets --write` measures the commands and writes budgets.toml; without --write, it compares."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.budgets.measure import measure
from tests.budgets.table import FILE, budgets_of, exceeded, read, text_of


def main() -> int:
    """Runs the command, and returns the exit code: 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(prog="python -m tests.budgets", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write budgets.toml")
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder))
    if parser.parse_args().write:
        FILE.write_text(text_of(budgets_of(measured)), encoding="utf-8")
        return 0
    lines = list(exceeded(read(), measured))
    print("\n".join(lines) or "all budgets are met")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
