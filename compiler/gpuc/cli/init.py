"""Writes the files of a new fleet: copies of the templates in template/, and the JSON Schema of the spec language."""

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from gpuc.cli.requirement import rehearsal_requirement
from gpuc.diagnostics.report.console import write_stdout
from gpuc.diagnostics.usage import UsageError

if TYPE_CHECKING:
    from gpuc.cli.init_settings import Settings

TEMPLATE = Path(__file__).parent / "template"
SUBSTRATES = {
    folder.parent.name.replace("_", "-"): folder
    for folder in sorted((TEMPLATE.parents[1] / "substrates").glob("*/template"))
}
"""The folders of the substrates of new clusters: their part of a spec, and questions.toml about their settings."""
COMMON = "common"
"""The folder in TEMPLATE with the files of all fleets."""
TENANTS = "tenants"
"""The folder with the files of a cluster with tenants and queues."""
MINIMAL = "minimal"
"""The folder with the files of a cluster with one node pool."""
SCHEMA_FILE = "gpuc.schema.json"
_CLUSTER_FILE = "specs/cluster.yaml"
"""The template of the cluster's spec. The spec itself has the name of the cluster."""
_LAYER_FILE = "specs/base/layer.yaml"
"""The template of the layer of a new fleet. The layer itself has the name of the substrate."""
_LISTS_OF_LINES = (".gitattributes", ".gitignore", "requirements.txt")
"""Files whose missing lines the user can add to a file that exists."""


class Written(Struct, frozen=True):
    """What `gpuc init` did with each file of a new fleet: created it, or kept an existing file."""

    created: list[str]
    kept: dict[str, list[str]]
    """The files that exist with another content. For some of them gpuc knows which lines the user can add."""


def write_fleet(directory: Path, settings: "Settings", example: str = TENANTS) -> Written:
    """Writes the files of a new fleet. Existing files are not changed.

    Args:
        example: the folder in the templates that contains the specs.

    Raises:
        UsageError: when a file cannot be written.
    """
    from gpuc.write.filesystem import RefusedError, SafeDir

    texts = fleet_files(settings, example)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with SafeDir(directory) as folder:
            present = {file: _present(directory / file, folder.read, file) for file in texts}
            created = [file for file in texts if present[file] is None]
            for file in created:
                folder.create(file, texts[file].encode())
    except RefusedError as error:
        raise UsageError(f"cannot write to {directory}: {error}") from None
    except OSError as error:
        raise UsageError(f"cannot write to {directory}: {error.strerror}") from None
    kept = {file: text for file, text in present.items() if text is not None and text != texts[file]}
    return Written(created, {file: _missing_lines(file, text, texts[file]) for file, text in kept.items()})


def fleet_files(settings: "Settings", example: str = TENANTS) -> dict[str, str]:
    """Returns the contents of the files of a new fleet, by their paths in the fleet."""
    texts = {SCHEMA_FILE: schema_text()}
    values = {**substrate_facts(settings.substrate), **asdict(settings), "example": example}
    values |= {"layer": layer_of(settings), "rehearsal": rehearsal_requirement(settings.requirement)}
    for folder in (TEMPLATE / COMMON, TEMPLATE / example):
        for file in folder.rglob("*"):
            if file.is_file() and file.parent.name != "__pycache__":  # pip compiles the Python files of a package
                name = file.relative_to(folder).as_posix()
                text = file.read_text("utf-8")
                texts[name.removesuffix(".j2")] = _rendered(text, values) if file.suffix == ".j2" else text
    texts[f"specs/{settings.name}.yaml"] = texts.pop(_CLUSTER_FILE)
    if _LAYER_FILE in texts:
        texts[layer_of(settings)] = texts.pop(_LAYER_FILE)
    return dict(sorted(texts.items()))


def layer_of(settings: "Settings") -> str:
    """Returns the path of the layer of a new fleet."""
    return f"specs/base/{settings.substrate}.yaml"


def substrate_facts(substrate: str) -> dict[str, Any]:
    """Returns questions.toml of a substrate."""
    return tomllib.loads((SUBSTRATES[substrate] / "questions.toml").read_text("utf-8"))


def schema_text(of: str = "spec") -> str:
    """Returns a JSON Schema as text.

    Args:
        of: `spec` for the spec language, `catalog` for files in specs/catalog/, or `plan` for the report of a plan.
    """
    if of == "plan":
        from gpuc.plan.report.json_report import json_schema as plan_schema

        return json.dumps(plan_schema(), indent=2) + "\n"
    from gpuc.spec.schema import catalog_schema, json_schema

    return json.dumps(catalog_schema() if of == "catalog" else json_schema(), indent=2) + "\n"


def run_schema(of: str) -> None:
    """Prints the JSON Schema of spec, catalog or plan."""
    write_stdout(schema_text(of))


def _present(path: Path, read: Callable[[str], bytes | None], file: str) -> str | None:
    """Returns the text of a file that exists; an empty string for a link or a folder; None if nothing exists."""
    if path.is_symlink() or path.is_dir():
        return ""
    data = read(file)
    return None if data is None else data.decode("utf-8", "replace")


def _missing_lines(file: str, present: str, text: str) -> list[str]:
    if file not in _LISTS_OF_LINES:
        return []
    return [line for line in text.splitlines() if line and line not in present.splitlines()]


def _rendered(text: str, values: Mapping[str, Any]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from gpuc.spec.corrected import yaml_text

    environment = Environment(
        loader=FileSystemLoader(SUBSTRATES[values["substrate"]]),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    return environment.from_string(text).render(values, scalar=yaml_text)
