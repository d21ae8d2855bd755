"""The end of `gpuc rehearse --keep`: the control plane runs until Ctrl-C."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

from gpuc.diagnostics.report.console import write_stdout


def wait_for_interrupt(kubeconfig: Path | str, sentence: str) -> None:
    """Prints how to reach a control plane, and a sentence about what runs, and waits for Ctrl-C."""
    write_stdout(f"export KUBECONFIG={kubeconfig}\n{sentence}\n")
    with suppress(KeyboardInterrupt):
        signal.pause()
