"""The versions of gpuc and of gpuc-rehearsal, which must be the same: `python -m tests.versions` checks them."""

import sys
import tomllib

from gpuc import __version__
from tests.conftest import ROOT


def places() -> dict[str, str]:
    """Returns what each place that names a version has."""
    gpuc, rehearsal = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"] for folder in (".", "rehearsal")
    )
    (extra,) = gpuc["optional-dependencies"]["rehearse"]
    (dependency,) = (line for line in rehearsal["dependencies"] if line.startswith("gpuc"))
    return {
        "gpuc.__version__": __version__,
        "version in pyproject.toml": gpuc["version"],
        "version in rehearsal/pyproject.toml": rehearsal["version"],
        "extra rehearse in pyproject.toml": extra.removeprefix("gpuc-rehearsal=="),
        "dependencies in rehearsal/pyproject.toml": dependency.removeprefix("gpuc=="),
    }


def main() -> int:
    """Prints the versions if they differ, and returns the exit code."""
    found = places()
    if len(set(found.values())) == 1:
        return 0
    sys.stderr.write("the versions differ:\n" + "".join(f"  {place}: {version}\n" for place, version in found.items()))
    return 1


if __name__ == "__main__":
    sys.exit(main())
