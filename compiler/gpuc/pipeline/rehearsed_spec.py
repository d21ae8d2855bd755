"""Changes a spec for a rehearsal: removes `leaving` and `hold`, and moves components to their usual namespaces."""

from typing import Any

_MARKS = ("leaving", "hold")
"""The fields with which a pool, tenant, namespace or queue gets no new workloads."""


def without_leaving(merged_spec: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the merged spec without `leaving: true` and `hold: true`, and the elements that had one of these fields.

    The elements are paths such as "pools/dev-l4" or "tenants/red/namespaces/lab".
    """
    leaving: list[str] = []

    def unmarked(node: Any, path: tuple[str, ...]) -> Any:
        if not isinstance(node, dict) or path[:1] not in ((), ("pools",), ("tenants",), ("queues",)):
            return node
        if len(path) in (2, 4) and any(node.get(key) is True for key in _MARKS):
            leaving.append("/".join(path))
            node = {key: value for key, value in node.items() if key not in _MARKS}
        return {key: unmarked(value, (*path, key)) for key, value in node.items()}

    return merged_spec | {"spec": unmarked(merged_spec["spec"], ())}, tuple(leaving)


def without_namespaces(merged_spec: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the merged spec without namespaces of components, and the components whose namespace the spec had set."""
    spec = merged_spec["spec"]
    settings = spec.get("components", {})
    moved = tuple(name for name, values in settings.items() if "namespace" in values)
    usual = {
        name: {key: value for key, value in values.items() if key != "namespace"} for name, values in settings.items()
    }
    return merged_spec | {"spec": spec | {"components": usual}} if moved else merged_spec, moved
