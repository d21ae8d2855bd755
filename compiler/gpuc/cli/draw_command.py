"""`gpuc draw`: prints a picture of a cluster."""

from gpuc.cli.picture import picture
from gpuc.cli.reports import show_compiled
from gpuc.diagnostics.report.console import write_stdout


def run_draw(spec: str | None = None) -> int:
    """Prints the picture of a cluster as SVG, and returns the exit code.

    Args:
        spec: a spec file or the name of a cluster; None if the fleet has only one cluster.

    Raises:
        UsageError: if the fleet has several clusters and no argument names one.
    """
    return show_compiled(lambda compiled: write_stdout(picture(compiled.cluster)), spec, "draw")
