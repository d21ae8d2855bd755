"""Finds the folders of components, also of components that only one substrate has, and reads their TOML tables."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]


@cache
def component_folders() -> dict[str, Path]:
    """Returns the folders of all components by the name of the folder: components/NAME and substrates/*/NAME."""
    files = [*_PACKAGE.glob("components/*/release.json"), *_PACKAGE.glob("substrates/*/*/release.json")]
    return {file.parent.name: file.parent for file in sorted(files)}


@cache
def table_folders() -> tuple[Path, ...]:
    """Returns the folders that can contain tables of alerts, recording rules and panels of dashboards."""
    return (*component_folders().values(), *sorted(_PACKAGE.glob("substrates/*")))


def component_folder(name: str) -> Path:
    """Returns the folder of a component, such as gpu_operator for gpu-operator. Other charts have no such folder."""
    folder = name.replace("-", "_")
    return component_folders().get(folder, _PACKAGE / "components" / folder)


def substrate_folder(folder: Path) -> str:
    """Returns the only substrate whose clusters can have a component; empty for components of all substrates."""
    return folder.parent.name if folder.parents[1].name == "substrates" else ""


def module_name(folder: Path) -> str:
    """Returns the name of the Python package in a folder, for example gpuc.components.kueue."""
    return ".".join((_PACKAGE.name, *folder.relative_to(_PACKAGE).parts))


def table_beside(module: str | Path) -> dict[str, Any]:
    """Reads the .toml file that has the same folder and name as a module.

    Args:
        module: the `__file__` of the module.
    """
    return tomllib.loads(Path(module).with_suffix(".toml").read_text("utf-8"))
