"""Builds Kustomizations with the program kustomize or kubectl, for `gpuc lint --build`.

The program runs without plugins, with an empty PATH (so without git and Helm), and with a proxy that nobody serves: it
can neither start programs nor reach a network. Remote inputs are refused before it starts.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct, field

from gpuc.diagnostics.finding import Mark
from gpuc.documents.reader import read
from gpuc.documents.source_map import SourceMap
from gpuc.lint.load.chart_installs import MapDocument
from gpuc.lint.load.files import UnreadableError, text_of
from gpuc.lint.load.kustomize import KUSTOMIZATION_NAMES, input_names, is_kustomization
from gpuc.objects.object_set import items

SECONDS_MAX = 60
OUTPUT_MAX_BYTES = 64 << 20
_MEMORY_MAX_BYTES = 4 << 30
_BASES = ("resources", "bases", "components")
_ENTRY = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
buildMetadata: [originAnnotations]
resources: [{base}]
"""
_NO_NETWORK = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
_remote = re.compile(r"[\w+.-]+(://|::)|git@|[\w-]+(\.[\w-]+)+(/[^/]+){2}|.*\?ref=")
"""The forms of URLs that kustomize reads if there is no such file (api/internal/git/repospec.go)."""
_not_allowed = re.compile("external plugin|enable-helm|enable-exec|enable-alpha-plugins")
"""Words in kustomize's message about an input that needs options which --build never gives."""

_prefix = re.compile(r"Error: |E\d+ .*?\"command failed\" err=[<\"] ?")
"""What kustomize and kubectl print before the error."""
_MESSAGE_MAX = 300
"""The number of characters of a message; its end has the cause."""


class Build(Struct):
    """A Kustomization that no other one uses, and what came out of its build."""

    file: str
    inputs: set[str] = field(default_factory=set)
    """The absolute paths of all files that the build reads."""
    documents: list[Any] = field(default_factory=list)
    """The objects, with annotations that name their files relative to `start`."""
    start: str = ""
    reason: str = ""
    """Why the files stay as they are; empty for a build."""
    mistake: Mark | None = None
    """The place of the mistake that prevents the build, if the reason is a mistake."""

    @property
    def remark(self) -> str:
        """The sentence of the report."""
        folder = os.path.dirname(self.file) or "."
        return f"{folder}: " + (f"files as they are, because {self.reason}" if self.reason else "built")


class _RefusedError(Exception):
    """A Kustomization cannot be built: the reason, and the place of the mistake, or None if there is no mistake."""


def builds(kustomizations: list[MapDocument], source_map: SourceMap) -> Iterator[Build]:
    """Builds each Kustomization that no other one uses, and those that use each other in a circle.

    Args:
        source_map: gets the texts of further Kustomizations that these ones use.
    """
    known: dict[str, MapDocument] = {}
    for document in kustomizations:
        known.setdefault(os.path.realpath(os.path.dirname(document[0])), document)
    tree = _Tree(known, source_map)
    used = {base for folder in list(known) for base in tree.bases(folder)}
    program = shutil.which("kustomize") or shutil.which("kubectl")
    reached: set[str] = set()
    for folder, (file, _, data) in sorted(known.items(), key=lambda item: (item[0] in used, item[0])):
        if folder in reached or data.get("kind") == "Component":
            continue
        build = Build(file)
        try:
            tree.collect(folder, build.inputs, reached, ())
            if program is None:
                build.reason = "neither kustomize nor kubectl is in PATH"
            else:
                _run(program, folder, build)
        except _RefusedError as error:
            build.reason, build.mistake = error.args
        yield build


class _Tree:
    """The Kustomizations by the real path of their folder, also those outside of the linted path."""

    def __init__(self, known: dict[str, MapDocument], source_map: SourceMap) -> None:
        self._known, self._source_map = dict(known), source_map
        folders = [os.path.realpath(folder) for folder in known]
        common = Path(os.path.commonpath(folders)) if folders else Path()
        top = next((parent for parent in (common, *common.parents) if (parent / ".git").exists()), None)
        self._limit = str(top or (Path.cwd() if common.is_relative_to(Path.cwd()) else common))

    def bases(self, folder: str) -> Iterator[str]:
        """Yields the real paths of the folders that a Kustomization uses."""
        for key in _BASES:
            for _, name in items(self._known[folder][2].get(key)):
                if isinstance(name, str) and os.path.isdir(path := os.path.join(folder, name)):
                    yield os.path.realpath(path)

    def collect(self, folder: str, inputs: set[str], reached: set[str], above: tuple[str, ...]) -> None:
        """Adds the files of a Kustomization and of those that it uses.

        Raises:
            _RefusedError: for what kustomize must not read, or cannot read.
        """
        file, index, data = self._known[folder]
        reached.add(folder)
        inputs.add(os.path.abspath(file))
        for key in ("helmCharts", "helmChartInflationGenerator"):
            if data.get(key):
                raise _RefusedError("Kustomize must download and render Helm charts", None)
        for path, name in input_names(data):
            mark = self._source_map.mark(file, (index, *path))
            target = os.path.realpath(os.path.join(folder, name))
            if os.path.isdir(target):
                self._collect_base(target, name, mark, inputs, reached, (*above, folder))
            elif os.path.exists(target):
                if not target.startswith(f"{folder}{os.sep}"):
                    raise _RefusedError(
                        f"{name} is outside of the folder of the Kustomization, and kustomize refuses it", mark
                    )
                inputs.add(os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(file)), name)))
            elif _remote.match(name):
                raise _RefusedError(f"{name} is remote, and gpuc uses no network", None)
            else:
                raise _RefusedError(f"{name} does not exist", mark)

    def _collect_base(
        self, target: str, name: str, mark: Mark, inputs: set[str], reached: set[str], above: tuple[str, ...]
    ) -> None:
        if target in above:
            raise _RefusedError(f"the Kustomization uses itself: {name} leads back to it", mark)
        if not f"{target}{os.sep}".startswith(f"{self._limit}{os.sep}"):
            raise _RefusedError(f"{name} leads out of the repository, or of the checked folder", mark)
        if target not in self._known and not self._read(target):
            raise _RefusedError(f"the folder {name} has no Kustomization", mark)
        self.collect(target, inputs, reached, above)

    def _read(self, folder: str) -> bool:
        for path in (os.path.join(folder, name) for name in KUSTOMIZATION_NAMES):
            if os.path.isfile(path):
                file = os.path.relpath(path)
                try:
                    text = text_of(file)
                except UnreadableError:
                    return False
                for index, data in read(text, file).documents:
                    if isinstance(data, dict) and is_kustomization(file, data):
                        self._source_map.add(file, text)
                        self._known[folder] = (file, index, data)
                        return True
        return False


def _run(program: str, folder: str, build: Build) -> None:
    """Runs kustomize for a Kustomization that has the folder as its base, and asks for the origin of each object.

    Raises:
        _RefusedError: when the program fails, or exceeds a limit.
    """
    command = [program, "build" if os.path.basename(program) == "kustomize" else "kustomize"]
    with TemporaryDirectory() as made:
        build.start = os.path.realpath(made)
        base = os.path.relpath(folder, build.start)
        Path(made, KUSTOMIZATION_NAMES[0]).write_text(_ENTRY.format(base=json.dumps(base)), "utf-8")
        output = Path(made, "output")
        with output.open("wb") as stream:
            try:
                ran = subprocess.run(
                    [*command, "--load-restrictor", "LoadRestrictionsRootOnly", "."],
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.PIPE,
                    cwd=build.start,
                    env={"PATH": "", "HOME": build.start, **_NO_NETWORK},
                    timeout=SECONDS_MAX,
                    preexec_fn=_limit_process,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise _RefusedError(f"the build takes longer than {SECONDS_MAX} seconds", None) from None
            except OSError as error:
                raise _RefusedError(f"{program} does not run: {error.strerror}", None) from None
        if output.stat().st_size >= OUTPUT_MAX_BYTES:
            raise _RefusedError(f"the output is larger than {OUTPUT_MAX_BYTES >> 20} MiB", None)
        if ran.returncode:
            message = _prefix.sub("", " ".join(ran.stderr.decode("utf-8", "replace").split())).rstrip(' ">')
            message = message.replace(f"{folder}{os.sep}", "")
            is_mistake = ran.returncode > 0 and not _not_allowed.search(message)
            mark = Mark(build.file, 1, 1) if is_mistake else None
            raise _RefusedError(f"kustomize says: {message[-_MESSAGE_MAX:] or ran.returncode}", mark)
        build.documents = [data for _, data in read(output.read_text("utf-8", "replace"), build.file).documents]


def _limit_process() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_MAX_BYTES, OUTPUT_MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_MAX_BYTES, _MEMORY_MAX_BYTES))
