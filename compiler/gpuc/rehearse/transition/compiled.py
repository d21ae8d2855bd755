"""Compiles the specs of a transition. Elements that leave stay marked, because marking them is a change of people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpuc.extra.files import read_files
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.fleet_policies import fleet_policies
from gpuc.pipeline.rehearsed_spec import without_namespaces
from gpuc.pipeline.stages import CompiledSpec, compile_source
from gpuc.source import Source, read


def compiled_state(root: Path, file: str) -> CompiledSpec:
    """Compiles a spec file of a fleet in memory.

    Raises:
        StageError: when the spec, a policy or a fact of the fleet has errors.
    """
    return compiled_from(root, read(root, file))


def compiled_from(root: Path, source: Source, *, keeps_namespaces: bool = False) -> CompiledSpec:
    """Compiles a merged spec. All components are in their usual namespaces, because the control plane runs them there.

    keeps_namespaces: whether the components are in the namespaces of the spec instead.

    Raises:
        StageError: when the spec, a policy or a fact of the fleet has errors.
    """
    tree, moved = (source.tree, ()) if keeps_namespaces else without_namespaces(source.tree)
    catalog = fleet_catalog(root).catalog
    files = read_files(root, source.file)
    compiled = compile_source(replace(source, tree=tree), fleet_policies(root), files=files, catalog=catalog)
    return replace(compiled, moved=moved)
