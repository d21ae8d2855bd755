"""The command `gpuc rehearse --argocd`: Argo CD applies the output of specs from a Git repository."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gpuc.diagnostics.usage import UsageError
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc_rehearsal.argocd.charts import ChartError
from gpuc_rehearsal.argocd.hub import ArgoCD, workload_destination
from gpuc_rehearsal.argocd.repository import RepositoryError
from gpuc_rehearsal.argocd.result import REPORT, SyncResult
from gpuc_rehearsal.argocd.run import rehearse
from gpuc_rehearsal.cli.rehearse_command import RehearsalOptions, Runs
from gpuc_rehearsal.programs import ArgoPrograms, Programs, find_argo_programs


def argocd_runs(
    root: Path, files: Sequence[str], programs: Programs, options: RehearsalOptions, progress: Callable[[str], None]
) -> Runs:
    """Returns a context manager for each group of specs. Its `with` block runs Argo CD with the clusters of the group.

    Raises:
        UsageError: for missing programs and unsupported destinations; in a `with` block, for invalid charts.
    """
    argo = find_argo_programs()
    found = groups([compiled_spec(root, file) for file in files])
    return [_running(root, group, programs, argo, options, progress) for group in found], REPORT.render


def groups(specs: Sequence[CompiledSpec]) -> list[list[CompiledSpec]]:
    """Returns the specs in groups. One Argo CD syncs all clusters of a group.

    If Argo CD runs in the cluster of a spec, this spec is a group of its own. All other specs are one group.
    """
    separate = [[spec] for spec in specs if workload_destination(spec.synced).is_own]
    others = [spec for spec in specs if not workload_destination(spec.synced).is_own]
    return [*separate, others] if others else separate


@contextmanager
def _running(
    root: Path,
    group: Sequence[CompiledSpec],
    programs: Programs,
    argo: ArgoPrograms,
    options: RehearsalOptions,
    progress: Callable[[str], None],
) -> Iterator[list[SyncResult]]:
    """Yields the results of a run. The control planes end when the caller leaves the `with` block."""
    try:
        argocd = ArgoCD(programs, argo, root, group, options.charts, options.crds, progress)
        progress(f"{', '.join(spec.cluster.name for spec in group)}: starting Argo CD and the control planes")
        with argocd:
            specs = [(spec.cluster.name, spec.cluster.file) for spec in group]
            yield rehearse(argocd, specs, progress, options.edit)
    except (ChartError, RepositoryError) as error:
        raise UsageError(str(error)) from None
