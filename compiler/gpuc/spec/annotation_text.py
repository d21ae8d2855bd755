"""The text of `gpuc explain ANNOTATION`: whether a tenant may use an annotation, and what the spec has to grant."""

from textwrap import fill

from gpuc.catalog.annotations import FREE, GRANTED, Annotation, annotation, annotations, controller_of
from gpuc.diagnostics.usage import UsageError
from gpuc.objects.object_set import grouped

_WIDTH = 100
_NEEDS = {
    FREE: "every tenant may use it",
    GRANTED: "only with a grant in exposed.annotations of the namespace",
}


def explain_annotation(key: str) -> str:
    """Returns what a tenant needs so that it may use an annotation, or a list of annotations with the same prefix.

    Args:
        key: the complete key of an annotation, or a prefix that ends at "/" or later, for example "external-dns.io/".

    Raises:
        UsageError: when the policies allow all annotations with this key.
    """
    if entry := annotation(key):
        return f"{entry.key}\n\n{entry.controller}: {_need(entry.use)}.\n\nSource: {entry.source}\n"
    if below := [found for found in annotations() if found.key.startswith(key)]:
        return "\n".join(_listed(key, below))
    if controller := controller_of(key):
        known = f"`gpuc explain {controller.prefix}` lists the annotations that it knows"
        return f"{key}\n\n{controller.controller} does not know this annotation, so it is refused; {known}.\n"
    domains = ", ".join(dict.fromkeys(entry.prefix for entry in annotations()))
    raise UsageError(f"the policies do not read the annotation {key}; they read those that start with {domains}")


def _need(use: str) -> str:
    return _NEEDS.get(use, f"only with values that exposed.{use} of the namespace grants")


def _listed(key: str, found: list[Annotation]) -> list[str]:
    parts = [f"{key}: " + ", ".join(dict.fromkeys(entry.controller for entry in found)), ""]
    for use, entries in grouped(found, lambda entry: entry.use).items():
        names = " ".join(entry.key.removeprefix(key) for entry in entries)
        parts += [
            f"{_need(use)}:",
            fill(names, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False),
        ]
    return [*parts, "", "All other annotations with this prefix are refused.", ""]
