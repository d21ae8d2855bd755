"""`gpuc compile` and `gpuc check`: run all stages for each spec, then write the output files or compare them."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Mark, StageError, rule_table
from gpuc.diagnostics.output_error import OutputError
from gpuc.diagnostics.report.result import Report
from gpuc.pipeline.compile_cache import CompileCache
from gpuc.pipeline.render_session import RenderSession, Send

if TYPE_CHECKING:
    from gpuc.catalog import Catalog
    from gpuc.pipeline.fleet_catalog import FleetCatalog
    from gpuc.pipeline.fleet_policies import FleetPolicies
    from gpuc.pipeline.other_clusters import OtherClusters
    from gpuc.source import Source
    from gpuc.write.lockfile import Removals

Progress = Callable[[str], None]
F = TypeVar("F", "FleetPolicies", "FleetCatalog")

rule_of = rule_table(__file__)
SAME_NAME = rule_of("LAY101")


class Compiled(Struct, frozen=True):
    """A cluster that was compiled without errors."""

    name: str
    source: "Source"
    removals: "Removals"


class Batch(Struct):
    """The clusters that a command compiles, and their findings. The output is not rendered yet."""

    files: dict[str, str] = field(default_factory=dict)
    """The spec file of each cluster, by the name of the cluster."""
    compiled: list[Compiled] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    failures: list[Finding] = field(default_factory=list)
    """Errors in the output that a bug of gpuc caused. If there are any, gpuc writes no file."""

    @property
    def is_clean(self) -> bool:
        """Whether no cluster has an error."""
        return not self.failures and not any(finding.is_error for finding in self.findings)

    def report(self, root: Path) -> Report:
        """Returns the report of a command that has written no file."""
        return replace(_report(root, self.findings, self.files), failures=tuple(self.failures))


def compile_specs(root: Path, files: Sequence[str] | None, into: Path, progress: Progress) -> Report:
    """Compiles clusters and writes the changed files. If a cluster has an error, no file is written.

    Args:
        root: the folder that contains specs/.
        files: spec files relative to the root; None for all clusters. With None, the output of clusters that have no
            spec is removed.
        into: the folder that contains out/ and clusters/.
        progress: a function that receives the name of each step when the step starts.
    """
    cache = CompileCache(root, files, into)
    if cached := cache.lookup():
        return replace(_report(root, cached.findings, cached.files), unchanged=sum(cached.files.values()))
    with RenderSession(into, reuse=True) as session:
        inputs = cache.inputs
        batch = _compile_all(root, files, into, progress, session.send)
        if not batch.is_clean:
            return batch.report(root)
        from gpuc.write.writer import write

        progress("writing")
        outputs = [session.output(cluster.name, cluster.source, cluster.removals) for cluster in batch.compiled]
        try:
            plan = write(into, outputs, all_clusters=files is None)
        except StageError as error:
            batch.findings += error.findings
            return batch.report(root)
    cache.store(inputs, {output.cluster: output.lock for output in outputs}, batch.findings)
    from gpuc.write.changes import changes

    written = (*plan.added, *plan.changed)
    unchanged = sum(len(output.files()) for output in outputs) - len(written)
    return replace(
        batch.report(root),
        written=written,
        removed=tuple(plan.removed),
        unchanged=unchanged,
        changes=changes(plan, outputs),
    )


def check_specs(root: Path, files: Sequence[str] | None, into: Path, fresh: bool, progress: Progress) -> Report:
    """Returns the findings of a compile, without writing a file.

    Args:
        fresh: whether to report also the files in out/ and clusters/ that a compile would add, change or remove.
    """
    if not fresh:
        return _compile_all(root, files, into, progress, lambda name, artifacts, source: None).report(root)
    with RenderSession(into, reuse=False) as session:
        batch = _compile_all(root, files, into, progress, session.send)
        if batch.is_clean:
            from gpuc.write.freshness import freshness_findings

            progress("comparing")
            outputs = [session.output(cluster.name, cluster.source, cluster.removals) for cluster in batch.compiled]
            batch.findings += freshness_findings(into, outputs, all_clusters=files is None)
    return batch.report(root)


def compile_cluster(
    root: Path,
    file: str,
    into: Path,
    send: Send,
    fleet: "FleetPolicies | None",
    catalog: "Catalog | None",
    others: "OtherClusters | None" = None,
) -> tuple[Compiled, list[Finding]]:
    """Compiles a spec file, and sends the artifacts to the printer before they are verified.

    If the present output below `into` has an element (a pool, tenant, namespace or queue) that the spec no longer has,
    the element was removed, and gpuc checks the removal.

    Args:
        fleet: the policies of the fleet; None if they have errors.
        catalog: the catalog of the fleet; None if its rows have errors.
        others: the clusters to compare the spec with; None to compare with no cluster.

    Raises:
        StageError: when a stage finds errors, or the fleet has errors.
        OutputError: when a bug of gpuc makes the output wrong.
    """
    from gpuc.extra.files import read_files
    from gpuc.pipeline.removal import removals
    from gpuc.pipeline.stages import compile_source
    from gpuc.source import read_all
    from gpuc.write.lockfile import read_lock

    source, name = read_all(root, file), Path(file).stem
    before, written = read_lock(into, name), read_files(root, file)
    try:
        if fleet is None or catalog is None:
            from gpuc.pipeline.independent_findings import Inputs, independent_findings

            raise StageError(independent_findings(source, Inputs(fleet, catalog, before, written, others)))
        spec = compile_source(source, fleet, before, lambda part: send(name, part, source), written, others, catalog)
    except StageError as error:
        raise StageError(_located(error.findings, source, name)) from None
    except OutputError as error:
        raise OutputError(_located(error.findings, source, name)) from None
    return Compiled(name, source, removals(spec.cluster)), _located(spec.findings, source, name)


def _compile_all(root: Path, files: Sequence[str] | None, into: Path, progress: Progress, send: Send) -> Batch:
    from gpuc.extra.files import folders_without_cluster
    from gpuc.pipeline.fleet_catalog import fleet_catalog
    from gpuc.pipeline.fleet_policies import fleet_policies
    from gpuc.pipeline.other_clusters import OtherClusters
    from gpuc.source import cluster_files
    from gpuc.source.foreign import objects_in_specs

    batch = Batch()
    fleet, rows, others = _read(fleet_policies, root, batch), _read(fleet_catalog, root, batch), OtherClusters()
    catalog = rows.catalog if rows else None
    if files is not None:
        others.add_unnamed(root, files)
    selected = cluster_files(root) if files is None else files
    if files is None:
        batch.findings += folders_without_cluster(root, selected)
        batch.findings += objects_in_specs(root)
    for file in selected:
        name = Path(file).stem
        first = batch.files.setdefault(name, file)
        if first != file:
            message = f"{file} and {first} both describe a cluster named {name}"
            batch.findings.append(SAME_NAME.at((), message, mark=Mark(file, 1, 1)))
            continue
        if fleet and catalog:
            progress(f"compiling {file}")
        try:
            cluster, findings = compile_cluster(root, file, into, send, fleet, catalog, others)
        except StageError as error:
            batch.findings += error.findings
        except OutputError as error:
            batch.failures += error.findings
        else:
            batch.compiled.append(cluster)
            batch.findings += findings
    return batch


def _read(read: Callable[[Path], F], root: Path, batch: Batch) -> F | None:
    """Returns the policies or the catalog of the fleet; None if they have errors. Adds the findings to the batch."""
    try:
        found = read(root)
    except StageError as error:
        batch.findings += error.findings
        return None
    batch.findings += found.findings
    return found


def located_errors(root: Path, file: str, error: StageError) -> list[Finding]:
    """Returns the findings about a spec that does not compile, with the cluster and the positions in its files."""
    from gpuc.source import read_all

    try:
        return _located(error.findings, read_all(root, file), Path(file).stem)
    except StageError:  # gpuc cannot read the files, and the findings have the positions
        return list(error.findings)


def _located(findings: Iterable[Finding], source: "Source", name: str) -> list[Finding]:
    """Returns the findings with the name of the cluster, and with the file, line and column of their spec paths."""
    return [replace(source.located(finding), cluster=name) for finding in findings]


def _report(root: Path, findings: Iterable[Finding], clusters: Iterable[str]) -> Report:
    return Report(tuple(findings), tuple(clusters), lines=lambda mark: source_line(root, mark))


def source_line(root: Path, mark: Mark) -> str | None:
    """Returns a source line; None without the line.

    The result is also None for a link: a pull request could print the target of the link, such as .git/config.
    """
    path = root.resolve() / mark.file
    try:
        if path.resolve() != path:
            return None
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, RuntimeError, ValueError):
        return None
    return lines[mark.line - 1] if 0 < mark.line <= len(lines) else None
