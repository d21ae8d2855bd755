"""Reads the objects in files that a command gets in addition to the specs."""

from pathlib import Path

from gpuc.diagnostics.report.console import write_message
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.load.load_objects import LoadedObjects, load_objects


def objects_in(paths: list[str]) -> LoadedObjects:
    """Returns the objects in files and folders. Prints a message about everything that gpuc cannot read there."""
    objects = load_objects(paths)
    for sentence in objects.unread_summary:
        write_message(sentence)
    return objects


def loaded_workloads(folder: Path) -> LoadedObjects:
    """Returns the objects of users in the folder of the option --workloads.

    Raises:
        UsageError: when the folder has no objects.
    """
    objects = objects_in([str(folder)])
    if not objects.manifests:
        raise UsageError(f"--workloads {folder} has no Kubernetes objects")
    return objects
