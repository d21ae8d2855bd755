"""`python -m tests.derive` writes schema tables of kinds and of Helm values; `--help` lists its options.

It writes the tables of the charts of the newest release set or of the components that --component names, and of the
kinds in --kind or else of all kinds that already have a table.
"""

import argparse
import json
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpuc.catalog import load
from gpuc.catalog.schemas import TABLES, VALUES, custom_kinds
from gpuc.parts.folders import component_folder
from tests.derive.builtin import EMITTED, OFTEN, builtin_tables
from tests.derive.charts import chart_table
from tests.derive.crds import CustomKind, custom_tables
from tests.derive.template_keys import update

_HELP = """\
Write the schema tables from files of the upstream projects: tables of the kinds in --kind or else of all kinds that
already have a table, and of the Helm values of the newest release set. Existing files are replaced; review the diff.

  helm pull CHART --repo URL --version VERSION --untar --untardir FOLDER
      downloads a chart; move FOLDER/CHART to CHARTS/CHART/VERSION. The keys that only its templates read go into
      template_keys.json, which charts without templates use.
  The CustomResourceDefinitions of a project are in folder crds/ of its chart, or in the files of its release.
      Copy the files to CRDS/PROJECT/VERSION. If they are templates of the chart, render them with `helm template`."""


def derived_charts(charts: Path, components: Collection[str]) -> dict[Path, str]:
    """Returns the text of the schemas of Helm values, by file; of all components of the newest release set if empty.

    Raises:
        LookupError: when a component has no row, or its chart has no file.
    """
    releases = load().releases
    newest = releases[max(releases)]
    if unknown := sorted({*components} - newest.keys()):
        raise LookupError(f"no row in components/*/release.json for component {', '.join(unknown)}")
    for name in components or newest:
        for folder in sorted(charts.glob(f"{newest[name].chart}/*/"))[:1]:
            update(name, newest[name].version, folder)
    return {
        component_folder(name) / VALUES: _text(chart_table(name, newest[name].chart, charts))
        for name in components or newest
    }


def charts_at_hand(charts: Path) -> list[str]:
    """Returns the components of the newest release set whose chart is in a folder of charts."""
    releases = load().releases
    newest = releases[max(releases)]
    return [name for name, release in newest.items() if any(charts.glob(f"{release.chart}/*/values.yaml"))]


def derived_kinds(crds: Path, kinds: Collection[CustomKind]) -> dict[Path, str]:
    """Returns the text of the tables of custom kinds, by file.

    Raises:
        LookupError: when a kind has no file.
    """
    return {TABLES / "crds" / file: _text(table) for file, table in custom_tables(crds, kinds).items()}


def derived_builtins() -> dict[Path, str]:
    """Returns the text of the tables of built-in kinds, by file.

    Raises:
        ModuleNotFoundError: when kubernetes-validate is not installed.
    """
    package = find_spec("kubernetes_validate")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("install the package kubernetes-validate, which has the schemas of built-in kinds")
    schemas = Path(package.origin).parent / "kubernetes-json-schema"
    chosen = {"kubernetes.json": EMITTED, "kubernetes-often.json": OFTEN}
    return {TABLES / file: _text(builtin_tables(schemas, kinds)) for file, kinds in chosen.items()}


def main() -> None:
    """Writes the tables that the arguments select. The same input files give the same output."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.derive",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--crds", type=Path,
        help="folder of <project>/<version>/*.yaml, the CustomResourceDefinitions of the kinds in --kind, or else of "
        "every kind that has a table",
    )  # fmt: skip
    parser.add_argument(
        "--charts", type=Path,
        help="folder of <chart>/<version>/, unpacked charts; <chart> as in release.json of the component",
    )  # fmt: skip
    parser.add_argument(
        "--component", action="append", default=[], metavar="NAME",
        help="a component whose schema of Helm values is written; without it, those of the newest release set",
    )  # fmt: skip
    parser.add_argument(
        "--kind", nargs=2, action="append", default=[], metavar=("APIVERSION", "KIND"),
        help="a kind without a table so far, for example jobset.x-k8s.io/v1alpha2 JobSet; repeat it for each kind",
    )  # fmt: skip
    parser.add_argument(
        "--kubernetes-validate", action="store_true", help="write the tables of the built-in kinds as well"
    )
    chosen = parser.parse_args()
    added = {(api, kind) for api, kind in chosen.kind}
    try:
        if chosen.crds:
            # With a kind or a component, the folder has only the definitions of its project.
            _write(derived_kinds(chosen.crds, added if added or chosen.component else {*custom_kinds()}))
        if chosen.charts:
            _write(derived_charts(chosen.charts, chosen.component))
    except LookupError as error:
        parser.error(str(error))
    if chosen.kubernetes_validate:
        _write(derived_builtins())


def _write(texts: Mapping[Path, str]) -> None:
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _text(table: Any) -> str:
    return json.dumps(table, sort_keys=True, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    main()
