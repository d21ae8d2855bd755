"""The fields that `kubectl get -o jsonpath` and `-o custom-columns` read, compared with the API server's schemas.

kubectl prints nothing or `<none>` for a field that does not exist, and reports no error.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gpuc_rehearsal.client import Client
from tests.readme.jsonpath import PathProblem
from tests.readme.kubectl import output_paths, parsed
from tests.readme.options import OptionProblem

Schema = dict[str, Any]


class Fields:
    """The schemas of an API server. `count` is the number of compared fields."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._schemas: dict[str, tuple[Schema, dict[str, Schema]]] = {}
        self._resources = dict(self._discovered())
        self.count = 0

    def problems(self, line: int, arguments: Sequence[str]) -> Iterator[str]:
        """Yields the fields of a command that the kind does not have."""
        try:
            verb, given = parsed(arguments)
            paths = output_paths(given)
        except (OptionProblem, PathProblem):
            return  # kubectl reports this mistake itself
        if verb != "get" or not paths or not given.words:
            return
        for path in paths:
            steps = path[2:] if path[:1] == ("items",) else path
            for name in given.words[0].split(","):
                self.count += 1
                if problem := self._missing(name.partition(".")[0], steps):
                    yield f"line {line}: {name} have no field {problem}"

    def _missing(self, name: str, path: Sequence[str]) -> str:
        """The first part of a path that does not exist; empty if all parts exist."""
        schema, definitions = self._schema(name)
        for number, step in enumerate(path):
            schema = _resolved(schema, definitions)
            if schema.get("x-kubernetes-preserve-unknown-fields") or not schema:
                return ""
            child = schema.get("items") if step == "*" else schema.get("properties", {}).get(step)
            child = child if child is not None else schema.get("additionalProperties")
            if child is None:
                return ".".join(path[: number + 1])
            schema = child if isinstance(child, dict) else {}
        return ""

    def _schema(self, name: str) -> tuple[Schema, dict[str, Schema]]:
        if name not in self._schemas:
            api, kind = self._resources[name]
            root = f"apis/{api}" if "/" in api else f"api/{api}"
            found = self._client.send("GET", f"/openapi/v3/{root}", None, "application/json")["components"]["schemas"]
            group, _, version = api.rpartition("/")
            key = {"group": group, "version": version, "kind": kind}
            schema = next(body for body in found.values() if key in body.get("x-kubernetes-group-version-kind", ()))
            self._schemas[name] = schema, found
        return self._schemas[name]

    def _discovered(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yields the apiVersion and the kind of each name of a resource; core kinds last, so that they win."""
        groups = self._client.send("GET", "/apis", None, "application/json")["groups"]
        for api in (*(group["preferredVersion"]["groupVersion"] for group in groups), "v1"):
            root = f"/apis/{api}" if "/" in api else f"/api/{api}"
            for row in self._client.send("GET", root, None, "application/json")["resources"]:
                for name in (row["name"], row.get("singularName"), *row.get("shortNames", ())):
                    if name and "/" not in row["name"]:
                        yield name, (api, row["kind"])


def _resolved(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    while True:
        reference = schema.get("$ref") or next(
            (part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None
        )
        if reference is None:
            return schema
        schema = definitions[reference.rpartition("/")[2]]
