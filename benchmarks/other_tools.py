"""Other tools: each prints the same objects as gpuc, and kubeconform then validates them."""

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

from benchmarks.objects import Objects
from benchmarks.process import Program
from gpuc.catalog.schemas import table

_TEMPLATE = "{{ range .Values.objects }}\n---\n{{ toYaml . }}\n{{ end }}\n"
_SCHEMA_LOCATION = "{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"
_OUTPUT = "objects.yaml"
HELM = "helm template + kubeconform"
KUSTOMIZE = "kustomize build + kubeconform"


def find_program(name: str) -> str | None:
    """Returns the path of a program in the folder GPUC_TOOLS or on PATH; None if the program is not installed."""
    return shutil.which(name, path=os.environ.get("GPUC_TOOLS")) or shutil.which(name)


def other_tools(objects: Objects, folder: Path) -> tuple[list[Program], list[str]]:
    """Returns the programs whose tools are installed, and a line for each program that lacks a tool."""
    programs, skipped = [], []
    kubeconform = find_program("kubeconform")
    for title, tool, command in (
        (HELM, "helm", _helm),
        (KUSTOMIZE, "kustomize", _kustomize),
    ):
        path = find_program(tool)
        missing = [name for name, location in ((tool, path), ("kubeconform", kubeconform)) if location is None]
        if path is None or kubeconform is None:
            skipped.append(f"{title}: {' and '.join(missing)} not found in GPUC_TOOLS or on PATH")
            continue
        programs.append(_piped(title, command(path, objects, folder), validation(kubeconform, objects, folder), folder))
    return programs, skipped


def _piped(name: str, printing: str, validation: str, folder: Path) -> Program:
    """Returns a program that prints to a file, as gpuc does, and validates the file."""
    own = folder / name.split(maxsplit=1)[0]
    own.mkdir()
    script = f"{printing} > {_OUTPUT} && {validation} {_OUTPUT}"
    return Program(name, "prints objects that gpuc has computed, and validates them", ("/bin/sh", "-c", script), own)


def printed_by(program: Program) -> Path:
    """Returns the file to which a program prints."""
    return program.folder / _OUTPUT


def _helm(path: str, objects: Objects, folder: Path) -> str:
    chart = folder / "chart"
    _write(chart / "Chart.yaml", "apiVersion: v2\nname: objects\nversion: 1.0.0\n")
    _write(chart / "values.yaml", json.dumps({"objects": objects.all}))
    _write(chart / "templates" / "objects.yaml", _TEMPLATE)
    return shlex.join((path, "template", "objects", str(chart)))


def _kustomize(path: str, objects: Objects, folder: Path) -> str:
    base, overlay = folder / "base", folder / "overlay"
    for file, documents in objects.by_file.items():
        _write(base / file, "\n---\n".join(json.dumps(document) for document in documents))
    _write(base / "kustomization.yaml", json.dumps({"resources": list(objects.by_file)}))
    _write(overlay / "kustomization.yaml", json.dumps({"resources": ["../base"]}))
    return shlex.join((path, "build", str(overlay)))


def validation(path: str, objects: Objects, folder: Path) -> str:
    """Returns the kubeconform command, without the file to validate. The command uses the schemas of gpuc."""
    schemas = folder / "schemas"
    for document in objects.all:
        api, kind = document["apiVersion"], document["kind"]
        file = schemas / api.partition("/")[0] / f"{kind.lower()}_{api.rpartition('/')[2]}.json"
        if not file.exists():
            _write(file, json.dumps(_schema(api, kind, objects.kubernetes)))
    return shlex.join((path, "-strict", "-summary", "-schema-location", f"{schemas}/{_SCHEMA_LOCATION}"))


def _schema(api: str, kind: str, kubernetes: str) -> dict[str, Any]:
    """Returns gpuc's schema of a kind, with the fields apiVersion, kind and metadata."""
    known = table(api, kind, kubernetes)
    assert known is not None
    outside = {"apiVersion": {"const": api}, "kind": {"const": kind}, "metadata": {"type": "object"}}
    return known.schema | {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": outside | known.schema["properties"],
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
