"""`python -m gpuc.catalog.schemas.derive` writes the schema tables of this folder; `--help` lists its options.

It writes the tables of the charts of the newest release set, of all kinds that already have a table, and of the kinds
in --kind.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpuc.catalog import load
from gpuc.catalog.schemas import custom_kinds
from gpuc.catalog.schemas.builtin import EMITTED, OFTEN, builtin_tables
from gpuc.catalog.schemas.charts import chart_tables
from gpuc.catalog.schemas.crds import CustomKind, custom_tables

_HERE = Path(__file__).parent
_HELP = """\
Write the schema tables from files of the upstream projects: tables of the kinds that already have a table, of the
kinds in --kind, and of the Helm values of the newest release set. Existing files are replaced; review the diff.

  helm pull CHART --repo URL --version VERSION --untar --untardir FOLDER
      downloads a chart; move FOLDER/CHART to CHARTS/CHART/VERSION
  The CustomResourceDefinitions of a project are in folder crds/ of its chart, or in the files of its release.
      Copy the files to CRDS/PROJECT/VERSION. If they are templates of the chart, render them with `helm template`."""


def derived(crds: Path, charts: Path, kinds: Collection[CustomKind]) -> dict[str, str]:
    """Returns the text of the tables of the kinds and of all charts, by path in this folder.

    Raises:
        LookupError: when a kind or a chart has no file.
    """
    releases = load().releases
    names = {name: release.chart for name, release in releases[max(releases)].items()}
    tables = {f"crds/{file}": table for file, table in custom_tables(crds, kinds).items()}
    tables |= {f"charts/{component}.json": table for component, table in chart_tables(charts, crds, names).items()}
    return {file: _text(table) for file, table in tables.items()}


def derived_builtins() -> dict[str, str]:
    """Returns the text of the tables of built-in kinds, by path in this folder.

    Raises:
        ModuleNotFoundError: when kubernetes-validate is not installed.
    """
    package = find_spec("kubernetes_validate")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("install the package kubernetes-validate, which has the schemas of built-in kinds")
    folder = Path(package.origin).parent / "kubernetes-json-schema"
    chosen = {"kubernetes.json": EMITTED, "kubernetes-often.json": OFTEN}
    return {file: _text(builtin_tables(folder, kinds)) for file, kinds in chosen.items()}


def main() -> None:
    """Writes the tables that the arguments select. The same input files give the same output."""
    parser = argparse.ArgumentParser(
        prog="python -m gpuc.catalog.schemas.derive",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--crds", type=Path, required=True,
        help="folder of <project>/<version>/*.yaml, the CustomResourceDefinitions of every kind that has a table",
    )  # fmt: skip
    parser.add_argument(
        "--charts", type=Path, required=True,
        help="folder of <chart>/<version>/, unpacked charts of the newest release set; <chart> as in releases.json",
    )  # fmt: skip
    parser.add_argument(
        "--kind", nargs=2, action="append", default=[], metavar=("APIVERSION", "KIND"),
        help="a kind without a table so far, for example jobset.x-k8s.io/v1alpha2 JobSet; repeat it for each kind",
    )  # fmt: skip
    parser.add_argument(
        "--kubernetes-validate", action="store_true", help="write the tables of the built-in kinds as well"
    )
    chosen = parser.parse_args()
    try:
        texts = derived(chosen.crds, chosen.charts, {*custom_kinds(), *((api, kind) for api, kind in chosen.kind)})
    except LookupError as error:
        parser.error(str(error))
    if chosen.kubernetes_validate:
        texts |= derived_builtins()
    for file, text in texts.items():
        path = _HERE / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _text(table: Any) -> str:
    return json.dumps(table, sort_keys=True, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    main()
