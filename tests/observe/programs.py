"""The programs of Debian's packages of Prometheus and Alertmanager, unpacked in the cache folder without root.

Run by `make observe`: python -m tests.observe.programs
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gpuc.manifest.cache_folder import cache_folder

PACKAGES = ("prometheus", "prometheus-alertmanager")
"""The packages, with the names of their programs."""
MISSING = "{} was not found: run `make observe` on Debian or Ubuntu, or install its package"


def folder() -> Path:
    """The folder with usr/bin: below GPUC_TOOLS, or in the cache of the user."""
    chosen = os.environ.get("GPUC_TOOLS")
    return (Path(chosen).expanduser().absolute() if chosen else Path(cache_folder("tools"))) / "debian"


def find(program: str) -> Path | None:
    """The unpacked program, or that of PATH; None if there is none."""
    unpacked, installed = folder() / "usr/bin" / program, shutil.which(program)
    return unpacked if os.access(unpacked, os.X_OK) else Path(installed) if installed else None


def unpack(package: str) -> str:
    """Downloads and unpacks a package, and returns the problem; empty if there is none."""
    folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as downloads:
        try:
            subprocess.run(["apt-get", "download", package], cwd=downloads, check=True, capture_output=True, text=True)
            (file,) = Path(downloads).glob("*.deb")
            subprocess.run(["dpkg", "-x", str(file), str(folder())], check=True, capture_output=True, text=True)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            return str(getattr(error, "stderr", "") or error).strip().splitlines()[-1]
    _find_templates_below(folder() / "usr/bin" / package)
    return ""


def _find_templates_below(program: Path) -> None:
    """Lets Debian's Alertmanager, which reads its templates from /usr/share, read them from its working directory."""
    installed, relative = b"/usr/share/prometheus/alertmanager", b"usr/share/prometheus//alertmanager"  # as long
    program.write_bytes(program.read_bytes().replace(installed, relative))


def main() -> None:
    for package in PACKAGES:
        if find(package) is None and (problem := unpack(package)):
            print(f"{package} cannot be downloaded, and its tests are skipped: {problem}", file=sys.stderr)


if __name__ == "__main__":
    main()
