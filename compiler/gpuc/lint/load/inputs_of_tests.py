"""Finds the files of a repository that are inputs of tests, or that are wrong on purpose. gpuc does not lint them."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from gpuc.lint.load.files import UnreadableError, text_of

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


def tests_of(names: Sequence[str], root: str) -> dict[str, str]:
    """Returns the files that are inputs of tests or wrong on purpose, each with the folder of the tests."""
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
