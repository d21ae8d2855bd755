"""`gpuc draw`: prints a picture of a cluster."""

from gpuc.cli.picture import picture
from gpuc.cli.reports import refused
from gpuc.cli.specs import only_spec
from gpuc.diagnostics.finding import StageError
from gpuc.diagnostics.report.console import write_stdout
from gpuc.pipeline.pipeline import located_errors
from gpuc.pipeline.stages import compiled_spec


def run_draw(spec: str | None = None) -> int:
    """Prints the picture of a cluster as SVG, and returns the exit code.

    Args:
        spec: a spec file or the name of a cluster; None for the only cluster.

    Raises:
        UsageError: if the fleet has several clusters and no argument names one.
    """
    root, file = only_spec([spec] if spec else [], "draw")
    try:
        compiled = compiled_spec(root, file)
    except StageError as error:
        return refused(root, located_errors(root, file, error), [file], "text")
    write_stdout(picture(compiled.cluster))
    return 0
