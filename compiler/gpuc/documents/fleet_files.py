"""Finds the files of a fleet by their names: specs, layers, manifests and files of specs/catalog/.

Commands that end early import only this module, and not the modules that parse the files.
"""

import os
import pathlib
import re

KIND_LINE = re.compile(rb"^kind:[ \t]*['\"]?(Cluster|Layer)['\"]?[ \t]*(?:#.*)?\r?$", re.MULTILINE)
"""The line with the kind of a cluster or a layer."""
MANIFESTS = "manifests"
"""The name of a folder with Kubernetes objects beside the spec of a cluster: specs/<cluster>/manifests/."""
CATALOG = "catalog"
"""The name of the folder in specs/ with facts of the fleet."""


def is_spec(file: pathlib.PurePath) -> bool:
    """Returns whether a file is a cluster or a layer: it is not hidden, not a manifest, and not in specs/catalog/."""
    parts = file.parts
    is_hidden = any(part.startswith(".") for part in parts)
    return not is_hidden and MANIFESTS not in parts[2:-1] and parts[1:2] != (CATALOG,)


def yaml_files(root: pathlib.Path) -> list[str]:
    """Returns the paths of all clusters and layers in specs/, relative to the root, sorted."""
    files = (
        path.relative_to(root)
        for path in (root / "specs").rglob("*")
        if path.suffix in (".yaml", ".yml") and not path.is_dir()
    )
    return sorted(file.as_posix() for file in files if is_spec(file))


def top_of_repository(folder: pathlib.Path) -> pathlib.Path | None:
    """Returns the folder of the Git repository that contains a folder; None without a repository."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)


def manifest_folder(spec: str) -> str:
    """Returns the folder with the manifests of a cluster: specs/prod-use1/manifests for specs/prod-use1.yaml."""
    return f"{os.path.splitext(spec)[0]}/{MANIFESTS}"
