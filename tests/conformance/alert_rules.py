"""Checks the alerts of the example clusters with the real promtool: their syntax, and when they fire.

`make conformance-all` runs this module. `make conformance` runs the same checks if promtool is found.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.alerts import promtool
from tests.conformance.check_result import CheckResult, report
from tests.conftest import EXAMPLES


def checks(program: Path, folder: Path) -> Iterator[CheckResult]:
    """Yields the results of `promtool check rules` and `promtool test rules` for each example cluster."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in EXAMPLES:
        outcome = promtool.check_rules(program, folder, name)
        yield CheckResult(f"promtool accepts the alerts of {name}", outcome.problem, f"{outcome.count} rules")
        for group in promtool.CASES:
            outcome = promtool.run_cases(program, folder, name, group)
            subject = f"the alerts {group} of {name} fire when they should"
            left_out = f", {outcome.left_out} left out, which need `gpuc tools --promtool`" if outcome.left_out else ""
            yield CheckResult(subject, outcome.problem, f"{outcome.count} cases{left_out}")


def main(_: Sequence[str]) -> int:
    """Prints the results; returns 1 if a check fails. If promtool is missing, the last line says so."""
    program = promtool.find_promtool()
    if program is None:
        print(f"not run: {promtool.MISSING}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return report(checks(program, Path(folder)), _numbers)


def _numbers(results: Sequence[CheckResult]) -> str:
    counts = {"rules": 0, "cases": 0}
    for result in results:
        number, kind = result.note.replace(",", "").split()[:2]
        counts[kind] += int(number)
    return f"{counts['rules']} rules, {counts['cases']} cases: "


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
