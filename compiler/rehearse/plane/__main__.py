"""For developers: `python -m compiler.rehearse.plane SPEC [--crds DIR] [--keep]`."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from compiler.fleet import find_root, select
from compiler.rehearse.apply import Applied, apply_tree
from compiler.rehearse.compiled import compiled_spec
from compiler.rehearse.crds import definitions
from compiler.rehearse.plane import ControlPlane
from compiler.rehearse.programs import find_programs
from compiler.rehearse.substitute import settings, stand_ins, substitutions


def main() -> int:
    """Starts a control plane, applies a spec's tree to it, prints what happened."""
    parser = argparse.ArgumentParser(prog="compiler.rehearse.plane")
    parser.add_argument("spec")
    parser.add_argument("--crds", type=Path)
    parser.add_argument("--keep", action="store_true", help="leave the control plane up until Ctrl-C")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = time.monotonic()
    root = find_root(Path.cwd())
    files = select(root, Path.cwd(), [arguments.spec]) or []
    spec = compiled_spec(root, files[0])
    programs = find_programs()
    crds = definitions(programs, arguments.crds, spec.cluster.spec.kueue.frameworks)
    print("\n".join(substitutions(spec, crds)))
    with ControlPlane(programs, settings(spec, crds), print) as plane:
        print(f"ready after {time.monotonic() - started:.1f} s")
        applied = apply_tree(plane.client, spec.synced, stand_ins(spec.cluster), lambda line: None)
        _show(applied)
        print(f"memory: {plane.memory_mib()}, {sum(plane.memory_mib().values())} MiB")
        print(f"done after {time.monotonic() - started:.1f} s")
        if arguments.keep:
            print(f"KUBECONFIG={plane.kubeconfig}", flush=True)
            signal.pause()
    return 0


def _show(applied: Applied) -> None:
    print(applied.objects, "objects;", ", ".join(f"{step} {taken:.1f} s" for step, taken in applied.seconds.items()))
    for refusal in applied.refusals:
        print(f"REFUSED {refusal.manifest.file} {refusal.manifest}: {refusal.error}")
    for sick in applied.sick:
        print(f"SICK {sick.manifest.file} {sick}")
    for manifest in applied.restless:
        print(f"CHANGED AGAIN {manifest.file} {manifest}")
    for manifest, difference in applied.differences:
        print(f"DIFFERS {manifest.file} {manifest}: {difference}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
