"""Builds Kustomizations with the program kustomize or kubectl, for `gpuc lint --build`.

The program runs without plugins, with an empty PATH (so without git and Helm), and with a proxy that does not exist. So
the program can neither start other programs nor reach a network. gpuc refuses remote inputs before the program starts.
"""

import json
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct, field

from gpuc.diagnostics.finding import Mark
from gpuc.documents.fleet_files import top_of_repository
from gpuc.documents.reader import read
from gpuc.documents.source_map import SourceMap
from gpuc.lint.load.chart_installs import MapDocument
from gpuc.lint.load.files import UnreadableError, text_of
from gpuc.lint.load.kustomize import KUSTOMIZATION_NAMES, input_names, is_kustomization
from gpuc.objects.object_set import dig

SECONDS_MAX = 60
OUTPUT_MAX_BYTES = 64 << 20
_MEMORY_MAX_BYTES = 4 << 30
_DEPTH_MAX = 100
_ENTRY = "buildMetadata: [originAnnotations]\nresources: [{}]\n"
_ORIGIN = "config.kubernetes.io/origin"
_NO_NETWORK = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
_remote = re.compile(r"[\w+.-]+(://|::)|git@|[\w-]+(\.[\w-]+)+(/[^/]+){2}|.*\?ref=")
"""Names that kustomize reads as URLs if there is no such file (kustomize v5.8.1, api/internal/git/repospec.go)."""
_not_allowed = re.compile("external plugin|enable-helm|enable-exec|enable-alpha-plugins")
"""Words in kustomize's message about an input that needs options which --build never gives."""
_before_cause = re.compile(r"Error: |E\d+ .*?\"command failed\" err=[<\"] ?|.*recursed accumulation of path '[^']*': ")
_MESSAGE_MAX = 300


class _RefusedError(Exception):
    """A Kustomization that cannot be built. This is a mistake if kustomize cannot build it with any options."""

    def __init__(self, reason: str, mark: Mark | None = None, is_mistake: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.mark, self.is_mistake = reason, mark, is_mistake


class Build(Struct):
    """The build of a Kustomization that no other Kustomization uses: the input files, and the objects or a problem."""

    file: str
    inputs: set[str] = field(default_factory=set)
    """The absolute paths of all files that the build reads."""
    objects: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Each object, with the absolute path of its file."""
    problem: _RefusedError | None = None
    """Why the files stay as they are."""

    @property
    def remark(self) -> str:
        """A sentence about the build for the report, for example "apps/prod: built"."""
        state = "built"
        if self.problem:
            place = f" ({self.problem.mark})" if self.problem.mark else ""
            reason = "of a mistake" if self.problem.is_mistake else self.problem.reason
            state = f"files as they are, because {reason}{place}"
        return f"{os.path.dirname(self.file) or '.'}: {state}"


def builds(kustomizations: list[MapDocument], source_map: SourceMap) -> Iterator[Build]:
    """Runs `kustomize build` for each Kustomization that no other Kustomization uses.

    If a Kustomization uses itself through other Kustomizations, its `Build` has no objects, but a problem.

    Args:
        source_map: the function adds the texts of further Kustomizations that it reads.
    """
    tree = _Tree(kustomizations, source_map)
    known, used = {}, set()
    for folder, (file, _, data) in list(tree.known.items()):
        build = Build(file)
        bases: set[str] = set()
        try:
            tree.collect(folder, build.inputs, bases, ())
        except _RefusedError as error:
            build.problem = error
        used |= bases
        if data.get("kind") != "Component":
            known[folder] = build
    program = shutil.which("kustomize") or shutil.which("kubectl")
    for folder, build in known.items():
        if folder in used and not build.problem:
            continue
        try:
            if not program:
                raise _RefusedError("neither kustomize nor kubectl is in PATH")
            build.objects = [] if build.problem else list(_run(program, folder, build.file))
        except _RefusedError as error:
            build.problem = error
        yield build


class _Tree:
    """The Kustomizations by the real path of their folder. Some of them can be outside of the linted path."""

    def __init__(self, kustomizations: list[MapDocument], source_map: SourceMap) -> None:
        self.known = {os.path.realpath(os.path.dirname(document[0])): document for document in kustomizations}
        self._source_map = source_map
        start = Path(os.path.commonpath(list(self.known) or ["/"]))
        self._limit = f"{top_of_repository(start) or start}{os.sep}"

    def collect(self, folder: str, inputs: set[str], bases: set[str], above: tuple[str, ...]) -> None:
        """Adds the input files and the bases of a Kustomization, also of all Kustomizations that it uses.

        Raises:
            _RefusedError: for an input that kustomize must not read, or cannot read.
        """
        file, index, data = self.known[folder]
        inputs.add(os.path.abspath(file))
        if data.get("helmCharts") or data.get("helmChartInflationGenerator"):
            raise _RefusedError("Kustomize must download and render Helm charts")
        for path, name in input_names(data):
            mark = self._source_map.mark(file, (index, *path))
            target = self._target(folder, name, mark)
            inputs.add(os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(file)), name)))
            if not os.path.isdir(target):
                continue
            if target in (*above, folder) or not self._is_known(target):
                what = "the Kustomization uses itself through" if target in self.known else "no Kustomization in"
                raise _RefusedError(f"{what} {name}", mark, True)
            if len(above) >= _DEPTH_MAX:
                raise _RefusedError(f"there are more than {_DEPTH_MAX} bases below each other", mark)
            if target not in bases:
                bases.add(target)
                self.collect(target, inputs, bases, (*above, folder))

    def _target(self, folder: str, name: str, mark: Mark) -> str:
        """Returns the real path of a file or folder that a Kustomization names, if kustomize may read it."""
        target = os.path.realpath(os.path.join(folder, name))
        if not os.path.exists(target):
            is_remote = _remote.match(name) is not None
            reason = "is remote, and gpuc uses no network" if is_remote else "does not exist"
            raise _RefusedError(f"{name} {reason}", mark, not is_remote)
        if not f"{target}{os.sep}".startswith(self._limit):
            raise _RefusedError(f"{name} leads out of the repository or the checked folder", mark)
        if not os.path.isdir(target) and not target.startswith(f"{folder}{os.sep}"):
            raise _RefusedError(f"kustomize reads no file outside of the folder: {name}", mark)
        return target

    def _is_known(self, folder: str) -> bool:
        """Returns whether a folder has a Kustomization, which may be outside of the linted path."""
        for path in (os.path.join(folder, name) for name in KUSTOMIZATION_NAMES):
            if folder not in self.known and os.path.isfile(path):
                file = os.path.relpath(path)
                try:
                    self._source_map.add(file, text_of(file))
                except UnreadableError:
                    return False
                for index, data in read(self._source_map.text(file), file).documents:
                    if isinstance(data, dict) and is_kustomization(file, data):
                        self.known[folder] = (file, index, data)
        return folder in self.known


def _run(program: str, folder: str, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields what kustomize builds for a Kustomization with the folder as its base, with the origin of each object.

    Raises:
        _RefusedError: when the program fails, or exceeds a limit.
    """
    command = [program, "build" if os.path.basename(program) == "kustomize" else "kustomize"]
    with TemporaryDirectory() as made:
        start = os.path.realpath(made)
        base = json.dumps(os.path.relpath(folder, start))
        Path(start, KUSTOMIZATION_NAMES[0]).write_text(_ENTRY.format(base), "utf-8")
        with Path(start, "output").open("w+b") as output:
            try:
                ran = subprocess.run(
                    [*command, "--load-restrictor", "LoadRestrictionsRootOnly", "."],
                    stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, cwd=start, check=False,
                    env={"PATH": "", "HOME": start, **_NO_NETWORK}, timeout=SECONDS_MAX, preexec_fn=_limit_process,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                raise _RefusedError(f"the build takes longer than {SECONDS_MAX} seconds") from None
            except OSError as error:
                raise _RefusedError(f"{program} does not run: {error.strerror}") from None
            output.seek(0)
            text = output.read().decode("utf-8", "replace")
    if len(text) >= OUTPUT_MAX_BYTES:
        raise _RefusedError(f"the output is larger than {OUTPUT_MAX_BYTES >> 20} MiB")
    if ran.returncode:
        said = " ".join(re.sub(r"\\+[nt]?", " ", ran.stderr.decode("utf-8", "replace")).split()).rstrip(' ">')
        message = _before_cause.sub("", said)[-_MESSAGE_MAX:] or f"exit code {ran.returncode}"
        is_mistake = ran.returncode > 0 and not _not_allowed.search(said)
        raise _RefusedError(f"kustomize says: {message}", Mark(file, 1, 1), is_mistake)
    for _, data in read(text, file).documents:
        if isinstance(data, dict):
            yield _origin(data, start, file), data


def _limit_process() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_MAX_BYTES, OUTPUT_MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_MAX_BYTES, _MEMORY_MAX_BYTES))


def _origin(data: dict[str, Any], start: str, file: str) -> str:
    """Removes the annotation with the origin of an object, and returns the absolute path of its file."""
    annotations = dig(data, "metadata", "annotations")
    text = annotations.pop(_ORIGIN, "") if isinstance(annotations, dict) else ""
    if annotations == {}:
        del data["metadata"]["annotations"]
    named = dict(line.partition(": ")[::2] for line in str(text).splitlines())
    found = named.get("path") or named.get("configuredIn")
    return os.path.normpath(os.path.join(start, found)) if found else os.path.abspath(file)
