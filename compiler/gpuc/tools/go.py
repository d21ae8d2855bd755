"""Runs Go in the folders that pin the versions of programs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable

from gpuc.tools.selection import ENVIRONMENT, PINS, BuildError, Program


def go(folder: str, *arguments: str) -> str:
    """Runs go in a folder below programs/ and returns its output.

    Raises:
        subprocess.CalledProcessError: when go fails.
    """
    environment = os.environ | ENVIRONMENT
    return subprocess.run(
        ("go", *arguments), cwd=PINS / folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


def downloaded_module(part: dict[str, str]) -> dict[str, str]:
    """Downloads the module of a file, a folder or a chart.

    Returns:
        Among others, `Version`, and `Dir`, the folder of the module in Go's cache.

    Raises:
        BuildError: when Go cannot download the module.
    """
    try:
        found: dict[str, str] = json.loads(go(part["folder"], "mod", "download", "-json", part["module"]))
    except subprocess.CalledProcessError as error:
        raise BuildError(f"{part['module']} cannot be downloaded: {(error.stderr or error.stdout).strip()}") from None
    return found


def require_go(programs: Iterable[Program]) -> None:
    """Checks the version of Go.

    Raises:
        BuildError: when Go is missing, or older than a go.mod requires.
    """
    required = {p.folder: re.findall(r"^go (\S+)", p.go_mod(), re.MULTILINE)[0] for p in programs}
    folder = max(required, key=lambda name: _release(required[name]))
    install = f"install Go {required[folder]} or newer and run the command again"
    if shutil.which("go") is None:
        raise BuildError(f"Go is required to build the programs and is not installed: {install}")
    try:
        found = go(folder, "env", "GOVERSION").strip()
    except subprocess.CalledProcessError as error:
        raise BuildError(f"this Go is too old for {folder} ({error.stderr.strip()}): {install}") from None
    if _release(found) < _release(required[folder]):
        raise BuildError(f"{found} is too old for {folder}: {install}")


def _release(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
