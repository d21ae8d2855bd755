"""Coverage-guided fuzzing of what reads untrusted text: `python -m tests.fuzz TARGET SECONDS`.

Targets: `spec` (the reader of specs), `lint` (files of strangers through schemas and judges), `trace` (all work of a
file through its objects), `isolation` (the proof over its policies). Needs atheris (`pip install gpuc[fuzz]`). Anything
but findings is a crash: its input goes to fuzz-crash-*, and the run ends with 77.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris  # type: ignore[import-not-found]

ROOT = Path(__file__).parent.parent.parent
LONGEST_BYTES = 4096


def _spec() -> Callable[[bytes], None]:
    with atheris.instrument_imports(include=["compiler", "ruamel"]):
        from compiler.finding import Stop
        from compiler.source.document import compose
        from compiler.source.encoding import text_of
    place = Path(tempfile.mkdtemp()) / "f.yaml"

    def target(data: bytes) -> None:
        place.write_bytes(data)
        try:
            text, _ = text_of(place, "specs/f.yaml")
            compose.__wrapped__(text, "specs/f.yaml")
        except Stop:
            return

    return target


def _lint() -> Callable[[bytes], None]:
    with atheris.instrument_imports(include=["compiler"]):
        from compiler.lint.objects import Reading
        from compiler.lint.places import Places
        from compiler.verify import judge
        from compiler.verify.schema import schema_flaws
        from compiler.verify.tree import Tree

    def target(data: bytes) -> None:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return
        reading, places = Reading(), Places()
        places.add("f.yaml", text)
        reading.add("f.yaml", text)
        reading.settle()
        flaws = schema_flaws(reading.manifests, "1.35", as_written=True)
        for flaw in [*flaws, *judge(Tree(reading.manifests, is_whole=False))]:
            index, *prefix = flaw.manifest.origin
            assert isinstance(index, int)
            places.line(places.mark("f.yaml", index, (*prefix, *flaw.path), on_key=flaw.on_key))

    return target


def _trace() -> Callable[[bytes], None]:
    with atheris.instrument_imports(include=["compiler"]):
        from compiler.lint.objects import Reading
        from compiler.lint.trace_report import Traced, render
        from compiler.verify.scheduling import PodSet, Site, Work, walk, work_of
        from compiler.verify.scheduling.limits import container_limits
        from compiler.verify.scheduling.work import requests
        from compiler.verify.tree import Tree

    def target(data: bytes) -> None:
        reading = Reading()
        reading.add("f.yaml", data.decode(errors="ignore"))
        reading.settle()
        site = Site(Tree(reading.manifests, is_whole=len(data) % 2 == 0))
        several = [work for each in reading.manifests if (work := work_of(each)) is not None]
        asked = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8", "cpu": "1"}}}]}
        queues = site.tree.of("kueue.x-k8s.io", "LocalQueue")[:3]
        several += [Work((PodSet(asked, 2),), each.namespace, each.name) for each in queues]
        for work in several:
            limits = container_limits(site, work.namespace)
            pods = {each.name: requests(each.pod, limits) for each in work.pod_sets}
            traced = [Traced(work, walk(site, work), pods)]
            for form in ("text", "json"):
                render(form, traced, lambda manifest, path: None)

    return target


def _isolation() -> Callable[[bytes], None]:
    with atheris.instrument_imports(include=["compiler"]):
        from compiler.lint.isolation_report import Proof, document, text
        from compiler.lint.objects import Reading
        from compiler.verify.isolation.assumptions import assumptions
        from compiler.verify.isolation.matrix import verdicts
        from compiler.verify.isolation.policy import GROUP, read_policies
        from compiler.verify.isolation.proof import Reach
        from compiler.verify.isolation.tenancy import separate_tenancy
        from compiler.verify.tree import Tree

    def target(data: bytes) -> None:
        reading = Reading()
        reading.add("f.yaml", data.decode(errors="ignore"))
        tree = Tree(reading.manifests, is_whole=False)
        reach = Reach(read_policies(tree.of(GROUP, "NetworkPolicy")), separate_tenancy(tree))
        proof = Proof("f.yaml", reach, verdicts(reach), assumptions(tree, reach), 0.0)
        text(proof)
        document([proof])

    return target


TARGETS = {
    "spec": (_spec, "specs/**/*.yaml"),
    "lint": (_lint, "out/prod-use1/**/*.yaml"),
    "trace": (_trace, "out/prod-use1/*/**/*.yaml"),
    "isolation": (_isolation, "out/prod-use1/tenants/*.yaml"),
}


def main() -> None:
    """Seeds a corpus with our own files and fuzzes."""
    name, seconds = sys.argv[1:3]
    make, seeds = TARGETS[name]
    target = make()
    with tempfile.TemporaryDirectory() as corpus:
        for number, file in enumerate(sorted(ROOT.glob(seeds))):
            (Path(corpus) / str(number)).write_bytes(file.read_bytes()[:LONGEST_BYTES])
        options = [f"-max_total_time={seconds}", f"-max_len={LONGEST_BYTES}", "-timeout=20", "-rss_limit_mb=2048"]
        atheris.Setup([sys.argv[0], *options, "-artifact_prefix=fuzz-", corpus], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
