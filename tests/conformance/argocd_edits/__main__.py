"""`gpuc rehearse --argocd` with edits after the first sync: `python -m tests.conformance.argocd_edits FILE SPEC...`.

FILE gets the results of the edits as JSON. The options are those of `gpuc rehearse`. A single cluster gets all edits,
and each of several clusters gets one edit.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from gpuc.cli.commands import declared
from gpuc.cli.parser import Parser
from gpuc.diagnostics.report.console import write_message
from gpuc.diagnostics.report.output import report_files
from gpuc.diagnostics.usage import UsageError
from gpuc_rehearsal.argocd.hub import ArgoCD
from gpuc_rehearsal.argocd.result import SyncResult
from gpuc_rehearsal.argocd.run import Progress
from gpuc_rehearsal.argocd.timeline import Watch
from gpuc_rehearsal.cli.rehearse_command import run_rehearsal
from tests.conformance.argocd_edits.edit_runner import EditRunner
from tests.conformance.argocd_edits.edit_schedule import EditSchedule


def edit(argocd: ArgoCD, result: SyncResult, watch: Watch, progress: Progress, *, all_edits: bool, file: Path) -> None:
    """Runs the edits of a cluster, records their failures, and adds the results to a file."""
    runner = EditRunner(argocd, result.cluster, result.file, watch, lambda step: progress(f"{result.cluster}: {step}"))
    edits = EditSchedule(runner)
    result.is_expected = edits.is_expected
    found = list(edits.run_all() if all_edits else edits.run_one())
    late = [edited.lateness(watch.now) for edited in found if edited.is_late]
    result.failures += [*runner.failures, *late]
    counts = {"edits": sum(not edited.skipped for edited in found), "late": len(late)}
    written: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    written[result.cluster] = counts | {"rows": [edited.cells for edited in found]}
    file.write_text(json.dumps(written), encoding="utf-8")


def main(words: list[str]) -> int:
    """Rehearses with edits, and returns the exit code of `gpuc rehearse`."""
    try:
        options = Parser(declared("rehearse")).parse(words[1:])
        with report_files(options.pop("output", ())) as outputs:
            all_edits = len(options.get("specs", ())) == 1
            return run_rehearsal(
                outputs=outputs, edit=partial(edit, all_edits=all_edits, file=Path(words[0])), **options
            )
    except UsageError as error:
        write_message(str(error))
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
