"""Finds the files below a path and reads their text. Pipes, devices and huge files cannot block the reader."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from gpuc.diagnostics.usage import UsageError
from gpuc.documents.reader import UNREADABLE, YamlText, read

SUFFIXES = (".yaml", ".yml", ".json")
SIZE_MAX_BYTES = 256 << 20
"""The limit for the size of a file. Files in repositories and dumps of clusters are smaller."""
STDIN = "-"
"""The path that means standard input."""
SETTINGS = "gpuc.yaml"
"""The name of the file with the settings of lint, which is not a manifest."""
_DATA_OF_TESTS = frozenset(("testdata", "fixtures", "__fixtures__", "golden"))
"""Names of folders with inputs of tests. Go never builds `testdata`."""
_TESTS = frozenset(("test", "tests", "e2e"))
"""Names of folders of tests, unless a Kustomization or gpuc makes objects from it, or it is an environment."""
_ENVIRONMENTS = re.compile(r"cluster|env|overlay|stage|region|site|tenant")
"""The names of folders of environments."""
_ENVIRONMENT = re.compile(r"main|((pre|non)-?)?(stag(e|ing)|prod(uction)?)|live|qa|uat")
"""The names of environments beside one with the name test."""
_WRONG_ON_PURPOSE = re.compile(r"(^|[-_.])(bad(?!ge)|invalid|malformed)|^(error|wrong)[-_](?!page)|[-_]disallowed\.")
"""The names of files that show a mistake. `error-pages.yaml` and `badge.yaml` do not."""
_TEST_PROGRAM = re.compile(r"^test_.*\.py$|_test\.(go|py)$|\.(test|spec)\.[jt]s$|\.sh$")
_CHANGES = re.compile(r"\b(sed|yq|envsubst|perl)\b")
"""The programs with which the line of a script changes a file before the apply."""
_KUSTOMIZATION = re.compile(r"(^|/)kustomization\.ya?ml$")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class UnreadableError(Exception):
    """A file cannot be read as text. The message of the error is the reason, in words for the user."""


def files_below(path: str) -> Iterator[str]:
    """Yields the paths of the files to read: `path` if it is a file, or the sorted YAML and JSON files of a folder.

    The path of a file may have any suffix. Hidden folders are skipped. Links to folders are not followed, as in
    kubectl. Folders that cannot be opened are yielded too: reading them fails, and the caller reports the error.

    Raises:
        UsageError: when the path does not exist.
    """
    if not _is_folder(path):
        yield path
        return
    closed: list[OSError] = []
    for folder, folders, names in os.walk(path, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.normpath(os.path.join(folder, name)) for name in sorted(names) if name.endswith(SUFFIXES))
    yield from (str(error.filename) for error in closed)


def tests_of(names: Sequence[str], root: str) -> dict[str, str]:
    """Returns the folder of tests for each file that belongs to tests.

    Such a file is an input of tests, or its name says that the file is wrong on purpose.
    """
    top, built = os.path.normpath(root), {os.path.dirname(name) for name in names if _KUSTOMIZATION.search(name)}
    known = {top: "", "": "", os.sep: ""}

    from gpuc.write.lockfile import LOCKFILE  # imported here, because few inputs need it

    def tests(folder: str) -> str:
        if folder not in known:
            above, name = tests(os.path.dirname(folder)), os.path.basename(folder)
            if not above and (name in _DATA_OF_TESTS or (name in _TESTS and not _is_environment(folder))):
                above = folder
            is_overlay = above == folder and name in _TESTS and folder in built
            is_made = is_overlay or (above and os.path.exists(os.path.join(folder, LOCKFILE)))
            known[folder] = "" if is_made else above
        return known[folder]

    words, found = lru_cache(_words_of_tests), {}
    for file in names:
        folder, name = os.path.split(file)
        is_input = folder not in built and (_WRONG_ON_PURPOSE.search(name) or name in words(folder))
        if outer := tests(folder) or (is_input and (folder or os.curdir)):
            found[file] = outer
    return found


def _words_of_tests(folder: str) -> set[str]:
    """Returns the words of the test programs in a folder, and of the lines of scripts that change files."""
    files = [os.path.join(folder, name) for name in os.listdir(folder or os.curdir) if _TEST_PROGRAM.search(name)]
    with suppress(UnreadableError):
        lines = ((file, line) for file in files for line in text_of(file).splitlines())
        read = (line for file, line in lines if not file.endswith(".sh") or _CHANGES.search(line))
        return {word for line in read for word in re.split(r"[^\w.-]", line)}
    return set()


def _is_environment(folder: str) -> bool:
    above = os.path.dirname(folder)
    beside = os.listdir(above or os.curdir)
    return bool(_ENVIRONMENTS.search(os.path.basename(above))) or any(map(_ENVIRONMENT.fullmatch, beside))


def text_of(file: str) -> str:
    """Returns the text of a file, without a byte order mark; of standard input for the name STDIN.

    A pipe, such as `<(kubectl get ...)`, is read to its end. An endless stream is read up to SIZE_MAX_BYTES.

    Raises:
        UnreadableError: when the file does not exist, is too large or is not UTF-8, or when permissions forbid reading.
    """
    try:
        data = _bytes("/dev/stdin" if file == STDIN else file)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    except ValueError as error:  # a NUL in the name
        raise UnreadableError(str(error)) from None
    if len(data) > SIZE_MAX_BYTES:
        raise UnreadableError(f"the file is larger than {SIZE_MAX_BYTES >> 20} MiB")
    if data.startswith(_UTF16):
        raise UnreadableError("the encoding is UTF-16, which PowerShell writes, and not UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(
            f"the text is not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}"
        ) from None


def documents_of(text: str, file: str) -> YamlText:
    """Returns the documents of a text. Files of the clusters of a fleet may differ only in the comment at the start."""
    found = _parsed(text.partition("\n")[2] if text.startswith("#") else text)
    return read(text, file) if found.findings else found


@lru_cache(maxsize=512)
def _parsed(text: str) -> YamlText:
    return read(text, "")


def _bytes(file: str) -> bytes:
    # A blocking open of a pipe that has no writer never returns. Reading blocks again, until the writer has finished.
    number = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(number, "rb") as stream:
        mode = os.fstat(number).st_mode
        if stat.S_ISBLK(mode) or (
            stat.S_ISCHR(mode) and not os.isatty(number) and os.path.realpath(file) != os.devnull
        ):
            raise UnreadableError("the path is a device")
        os.set_blocking(number, True)
        data = stream.read(SIZE_MAX_BYTES + 1)
    if not data and stat.S_ISFIFO(mode):
        raise UnreadableError("the path is a pipe that no process writes to")
    return data


def _is_folder(path: str) -> bool:
    """Returns whether a path is a folder.

    Raises:
        UsageError: when the path does not exist, or permissions forbid access.
    """
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        message = f"{path} is a link to a missing file" if os.path.islink(path) else f"no file {path}"
        raise UsageError(message) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


_BRACES = re.compile(r"^\s*(?:- )?(?:\{\{|\{%)|[:-]\s+\{\{|^\s*\$\{[^}\n]*\}\s*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{|\{%|%\{|\$\{(?!\w+\})|<%|%\w+%")
"""The signs of Go, Jinja, Terraform and ERB templates, and of a name that a script replaces."""


def is_template(file: str, text: str, parsed: YamlText) -> bool:
    """Returns whether a text is a template: it has braces outside of YAML strings, or braces where it is not YAML.

    A file of a chart's folder "templates" that is not YAML is a template in any case.
    """
    errors = [finding.mark for finding in parsed.findings if finding.id == UNREADABLE.id and finding.mark]
    if errors:
        lines = text.splitlines()
        near = (line for mark in errors for line in lines[mark.line - 1 : mark.line])
        folder, _, _ = file.replace(os.sep, "/").rpartition("/templates/")
        is_of_chart = bool(folder) and os.path.exists(os.path.join(folder, "Chart.yaml"))
        return is_of_chart or bool(_BRACES.search(text)) or any(map(_PLACEHOLDER.search, near))
    return (
        ("{{" in text or "{%" in text)
        and bool(_BRACES.search(text))
        and any(_has_map_as_key(data) for _, data in parsed.documents)
    )


def _has_map_as_key(value: Any) -> bool:
    """Returns whether a map in the value has a map as a key, which is how YAML reads `{{ name }}`."""
    if isinstance(value, dict):
        return "?" in value or any(_has_map_as_key(child) for child in value.values())
    return isinstance(value, list) and any(_has_map_as_key(item) for item in value)
