"""Runs tests/observe: rules, dashboards and notifications with the real Prometheus and Alertmanager.

`make conformance-all` runs this module, which downloads and builds the programs. `make conformance` runs the same tests
if the programs are found.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence

from tests.conformance.check_result import CheckResult, report
from tests.conftest import ROOT
from tests.observe import notify_programs, programs

SUBJECT = "the rules, dashboards and notifications work with Prometheus and Alertmanager"


def missing() -> str:
    """The first program that is missing, with the way to get it; empty if all are found."""
    for name in (*programs.PACKAGES, "amtool"):
        if programs.find(name) is None:
            return programs.MISSING.format(name)
    return "" if notify_programs.converter_file().exists() else notify_programs.NOT_BUILT


def checks() -> Iterator[CheckResult]:
    """Yields the result of the tests, with the last line of pytest."""
    command = (sys.executable, "-m", "pytest", "-m", "", "-n", "1", "tests/observe")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    note = (done.stdout.strip().splitlines() or [""])[-1]
    yield CheckResult(SUBJECT, done.stdout + done.stderr if done.returncode else "", note)


def main(_: Sequence[str]) -> int:
    """Prints the results; returns 1 if a check fails. If a program is missing, the last line says so."""
    programs.main()
    notify_programs.build_converter()
    if problem := missing():
        print(f"not run: {problem}")
        return 0
    return report(checks(), lambda results: f"{results[0].note}: ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
