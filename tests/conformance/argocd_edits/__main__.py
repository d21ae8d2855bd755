"""`gpuc rehearse --argocd` with edits after the first sync: `python -m tests.conformance.argocd_edits SPEC...`.

The options are those of `gpuc rehearse`. A single cluster gets all edits, and each of several clusters gets one edit.
"""

from __future__ import annotations

import sys
from functools import partial

from gpuc.cli.commands import declared
from gpuc.cli.parser import Parser
from gpuc.diagnostics.report.console import write_message
from gpuc.diagnostics.report.output import report_files
from gpuc.diagnostics.usage import UsageError
from gpuc_rehearsal.argocd.hub import ArgoCD
from gpuc_rehearsal.argocd.run import ClusterRun, Progress
from gpuc_rehearsal.argocd.timeline import Watch
from gpuc_rehearsal.cli.rehearse_command import run_rehearsal
from tests.conformance.argocd_edits.edit_runner import EditRunner
from tests.conformance.argocd_edits.edit_schedule import EditSchedule


def edit(argocd: ArgoCD, cluster_run: ClusterRun, watch: Watch, progress: Progress, *, all_edits: bool) -> None:
    """Runs the edits of a cluster, and records them with their failures."""
    runner = EditRunner(
        argocd, cluster_run.name, cluster_run.file, watch, lambda step: progress(f"{cluster_run.name}: {step}")
    )
    edits = EditSchedule(runner)
    cluster_run.edits += edits.run_all() if all_edits else edits.run_one()
    cluster_run.failures += runner.failures
    cluster_run.expected_refusals += edits.expected_refusals


def main(words: list[str]) -> int:
    """Rehearses with edits, and returns the exit code of `gpuc rehearse`."""
    try:
        options = Parser(declared("rehearse")).parse(words)
        with report_files(options.pop("output", ())) as outputs:
            all_edits = len(options.get("specs", ())) == 1
            return run_rehearsal(outputs=outputs, edit=partial(edit, all_edits=all_edits), **options)
    except UsageError as error:
        write_message(str(error))
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
