"""The folders of components, of all clusters and of one substrate (a place where a cluster lives); and their tables."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]


@cache
def component_folders() -> dict[str, Path]:
    """Returns the folders of all components by their names in Python: components/NAME and substrates/*/NAME."""
    files = [*_PACKAGE.glob("components/*/release.json"), *_PACKAGE.glob("substrates/*/*/release.json")]
    return {file.parent.name: file.parent for file in sorted(files)}


@cache
def table_folders() -> tuple[Path, ...]:
    """Returns the folders that can have tables of alerts, records and panels: of components and of substrates."""
    return (*component_folders().values(), *sorted(_PACKAGE.glob("substrates/*")))


def component_folder(name: str) -> Path:
    """Returns the folder of a component, which does not exist for other charts. Hyphens become underscores."""
    folder = name.replace("-", "_")
    return component_folders().get(folder, _PACKAGE / "components" / folder)


def substrate_folder(folder: Path) -> str:
    """Returns the folder of the substrate to which a component belongs; empty for a component of all clusters."""
    return folder.parent.name if folder.parents[1].name == "substrates" else ""


def module_name(folder: Path) -> str:
    """Returns the name of the package in a folder, for example gpuc.components.kueue."""
    return ".".join((_PACKAGE.name, *folder.relative_to(_PACKAGE).parts))


def table_beside(module: str | Path) -> dict[str, Any]:
    """Returns the table in the file beside a module that has the name of the module and the suffix .toml.

    Args:
        module: the `__file__` of the module.
    """
    return tomllib.loads(Path(module).with_suffix(".toml").read_text("utf-8"))
