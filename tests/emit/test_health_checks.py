"""Health checks in Lua, in an interpreter with the same libraries as in Argo CD.

Source: argoproj/argo-cd v3.5.1 util/lua/lua.go (runLua): base, package, table and a part of os
"""

import json
from functools import cache
from typing import Any

import pytest
import yaml
from lupa import lua51

from gpuc.manifest.manifest import Text
from tests.conftest import EXAMPLES
from tests.emit import fleet
from tests.tables import table

_TABLE = table(__file__, "health_checks.yaml")


@cache
def checks() -> dict[str, str]:
    """Returns the Lua scripts by kind. They are the same in all example clusters."""
    texts = [
        artifact.text
        for artifact in fleet.artifacts(EXAMPLES[0])
        if isinstance(artifact, Text) and "health" in artifact.file
    ]
    found = {}
    for key, lua in yaml.safe_load(texts[0])["configs"]["cm"].items():
        if key.startswith("resource.customizations.health."):
            found[key.removeprefix("resource.customizations.health.")] = lua
    return found


def health(kind: str, obj: dict[str, Any]) -> tuple[str, str]:
    """Returns status and message of the health check for an object."""
    runtime = lua51.LuaRuntime(unpack_returned_tuples=True)
    for library in ("string", "math", "io", "debug"):
        runtime.globals()[library] = None
    unshared = json.loads(json.dumps(obj))  # a dict that occurs twice becomes an empty table
    runtime.globals()["obj"] = runtime.table_from(unshared, recursive=True)
    result = runtime.execute(checks()[kind])
    return result["status"], result["message"]


def described(row: dict[str, Any]) -> dict[str, Any]:
    """The object of a row of the table."""
    synced = _TABLE["synced"]
    changed = {"spec": row.get("spec", synced["spec"]), "status": {**synced["status"], **row.get("status", {})}}
    found: dict[str, Any] = row.get("object", {**changed, **row.get("more", {})})
    return found


@pytest.mark.parametrize("row", _TABLE["rows"], ids=lambda row: row["why"])
def test_the_health_of_an_object(row: dict[str, Any]) -> None:
    status, message = health(row.get("kind", "argoproj.io_Application"), described(row))
    assert (status, message) == (row["is"], row.get("message", message))
