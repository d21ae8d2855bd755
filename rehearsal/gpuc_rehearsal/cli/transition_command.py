"""The command `gpuc rehearse --from`: rehearses the change from an earlier revision or folder to the current specs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gpuc.cli.objects import loaded_workloads
from gpuc.diagnostics.finding import StageError
from gpuc.diagnostics.report.console import write_message
from gpuc.diagnostics.usage import UsageError
from gpuc.pipeline.pipeline import located_errors
from gpuc.pipeline.stages import CompiledSpec
from gpuc.plan.revision import revision_root
from gpuc.source import read
from gpuc_rehearsal.cli.rehearse_command import RehearsalOptions, Runs
from gpuc_rehearsal.programs import Programs
from gpuc_rehearsal.transition import run
from gpuc_rehearsal.transition.result import REPORT, TransitionResult


def transitions(
    root: Path, files: Sequence[str], programs: Programs, options: RehearsalOptions, progress: Callable[[str], None]
) -> Runs:
    """Returns a context manager for each spec. Its `with` block applies the change of the spec to a control plane.

    Raises:
        UsageError: when the state before has no spec of a cluster, or has a spec that does not compile.
    """
    with revision_root(root, options.before) as before:
        changes = list(_transitions(before, root, files, options))
    return [_result(change, programs, options, progress) for change in changes], REPORT.render


def _transitions(before: Path, root: Path, files: Sequence[str], options: RehearsalOptions) -> Iterator[run.Transition]:
    # The objects have the metadata that shows which controller owns an object.
    loaded = loaded_workloads(options.workloads) if options.workloads else None
    workloads = [loaded.document(manifest) for manifest in loaded.manifests] if loaded else None
    present = [file for file in files if (before / file).is_file()]
    for file in files:
        if file not in present:
            write_message(f"{options.before} has no {file}: a new cluster has no work that a change disturbs")
    if not present:
        raise UsageError(f"{options.before} has none of the specs: a transition needs the spec of the state before")
    for file in present:
        old, new = _compiled(before, file, "the state before"), _compiled(root, file, "the state after")
        places = [state.cluster.spec.cloud.substrate for state in (old, new)]
        if places[0] != places[1]:
            raise UsageError(
                f"{file} had {places[0].title} in {options.before}, and has {places[1].title} now: "
                "a transition needs one cluster"
            )
        yield run.Transition(str(options.before), old, new, workloads)


def _compiled(root: Path, file: str, state: str) -> CompiledSpec:
    """Compiles a spec of a state.

    Raises:
        UsageError: when the spec does not compile.
    """
    try:
        return run.compiled_from(root, read(root, file))
    except StageError as error:
        first = next(finding for finding in located_errors(root, file, error) if finding.is_error)
        raise UsageError(f"{state} does not compile: {first.mark}: {first.message}") from None


@contextmanager
def _result(
    change: run.Transition, programs: Programs, options: RehearsalOptions, progress: Callable[[str], None]
) -> Iterator[list[TransitionResult]]:
    name = change.after.cluster.name
    with run.transition(change, programs, options.crds, lambda step: progress(f"{name}: {step}")) as result:
        yield [result]
