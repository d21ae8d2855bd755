"""Coverage-guided fuzzing of the readers of untrusted files: `python -m tests.fuzz TARGET SECONDS`.

Targets: `spec` (the reader of specs), `lint` (schemas and checks), `trace` (the workloads of a file), `isolation` (the
proof for the policies of a file). Needs atheris (`pip install atheris`). An exception is a crash: the input is
written to fuzz-crash-*, and the exit code is 77.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris  # type: ignore[import-not-found]

ROOT = Path(__file__).parent.parent.parent
MAX_BYTES = 4096


def _spec() -> Callable[[bytes], None]:
    with atheris.instrument_imports(include=["gpuc"]):
        from gpuc.diagnostics.finding import StageError
        from gpuc.source.document import compose
        from gpuc.source.encoding import text_of
    place = Path(tempfile.mkdtemp()) / "f.yaml"

    def target(data: bytes) -> None:
        place.write_bytes(data)
        try:
            text, _ = text_of(place, "specs/f.yaml")
            compose.__wrapped__(text, "specs/f.yaml")
        except StageError:
            return

    return target


def _lint() -> Callable[[bytes], None]:
    with atheris.instrument_imports(include=["gpuc"]):
        from gpuc.documents.source_map import SourceMap
        from gpuc.lint.checks import findings as findings_among
        from gpuc.lint.load.loaded_files import LoadedFiles
        from gpuc.objects.object_set import ObjectSet
        from gpuc.verify.fields.schema import schema_findings

    def target(data: bytes) -> None:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return
        reading, places = LoadedFiles(), SourceMap()
        places.add("f.yaml", text)
        reading.add("f.yaml", text)
        reading.apply_kustomizations()
        findings = schema_findings(reading.manifests, "1.35", as_written=True)
        for finding in [*findings, *findings_among(ObjectSet(reading.manifests, is_complete=False))]:
            places.line(places.mark("f.yaml", (*finding.manifest.origin, *finding.path), finding.on_key))

    return target


def _trace() -> Callable[[bytes], None]:
    with atheris.instrument_imports(include=["gpuc"]):
        from gpuc.diagnostics.report.printer import printed
        from gpuc.lint.load.loaded_files import LoadedFiles
        from gpuc.objects.object_set import ObjectSet
        from gpuc.trace import ClusterIndex, PodSet, Workload, trace_workload, workload_of
        from gpuc.trace.report import Traced, blocks, document

    def target(data: bytes) -> None:
        reading = LoadedFiles()
        reading.add("f.yaml", data.decode(errors="ignore"))
        reading.apply_kustomizations()
        site = ClusterIndex(ObjectSet(reading.manifests, is_complete=len(data) % 2 == 0))
        several = [work for manifest in reading.manifests if (work := workload_of(manifest)) is not None]
        asked = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8", "cpu": "1"}}}]}
        queues = site.objects.of("kueue.x-k8s.io", "LocalQueue")[:3]
        several += [Workload((PodSet(asked, 2),), queue.namespace, queue.name) for queue in queues]
        for work in several:
            traced = [Traced(work, trace_workload(site, work))]
            printed(blocks(traced, lambda manifest, path: None))
            document(traced, lambda manifest, path: None)

    return target


def _isolation() -> Callable[[bytes], None]:
    with atheris.instrument_imports(include=["gpuc"]):
        from gpuc.diagnostics.report.printer import printed
        from gpuc.isolation.assumptions import assumptions
        from gpuc.isolation.proof import Reachability, verdicts
        from gpuc.isolation.report import Proof, blocks, document
        from gpuc.isolation.tenancy import separate_tenancy
        from gpuc.lint.load.loaded_files import LoadedFiles
        from gpuc.objects.network_policies import GROUP, read_policies
        from gpuc.objects.object_set import ObjectSet

    def target(data: bytes) -> None:
        reading = LoadedFiles()
        reading.add("f.yaml", data.decode(errors="ignore"))
        tree = ObjectSet(reading.manifests, is_complete=False)
        reachability = Reachability(read_policies(tree.of(GROUP, "NetworkPolicy")), separate_tenancy(tree))
        proof = Proof("f.yaml", reachability, verdicts(reachability), assumptions(tree, reachability), 0.0)
        printed(blocks(proof))
        document([proof])

    return target


TARGETS = {
    "spec": (_spec, "specs/**/*.yaml"),
    "lint": (_lint, "out/prod-use1/**/*.yaml"),
    "trace": (_trace, "out/prod-use1/*/**/*.yaml"),
    "isolation": (_isolation, "out/prod-use1/tenants/*.yaml"),
}


def main() -> None:
    """Fuzzes a target with a corpus of the repository's own files."""
    name, seconds = sys.argv[1:3]
    make, seeds = TARGETS[name]
    target = make()
    with tempfile.TemporaryDirectory() as corpus:
        for number, file in enumerate(sorted(ROOT.glob(seeds))):
            (Path(corpus) / str(number)).write_bytes(file.read_bytes()[:MAX_BYTES])
        options = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-timeout=20", "-rss_limit_mb=2048"]
        atheris.Setup([sys.argv[0], *options, "-artifact_prefix=fuzz-", corpus], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
