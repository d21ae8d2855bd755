"""Patches, with which a spec changes objects that gpuc emits."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from gpuc.spec.base import Accept, Reason, SpecModel
from gpuc.spec.form import Form

NamePattern = Annotated[
    str,
    Form(r"^[A-Za-z0-9*]([A-Za-z0-9.:*-]*[A-Za-z0-9*])?$", "the name of an object, in which * matches all characters"),
    Field(max_length=253),
]
"""A name in which * is any text. All other characters match only themselves."""


def _group(text: str) -> str:
    return text.partition("/")[0]


class PatchTarget(SpecModel):
    """The objects that a patch changes."""

    in_messages: ClassVar[str] = "{kind: NodePool, name: train}"

    kind: Annotated[
        str, Form(r"^[A-Z][A-Za-z0-9]*$", "a kind such as NodePool, without its group"), Field(max_length=63)
    ]
    """The kind of the objects, for example NodePool."""

    name: NamePattern
    """The name of the object. * in the name is any text: "*" matches all objects of the kind."""

    namespace: NamePattern | None = None
    """The namespace of the object. * in the name is any text. Default: objects in all namespaces and in none."""

    group: (
        Annotated[
            str,
            Form(r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$", "an API group such as batch, without its version", _group),
            Field(max_length=253),
        ]
        | None
    ) = None
    """The API group of the objects, without a version. Default: all groups."""


Pointer = Annotated[
    str,
    Form(r"^(/([^~/]|~[01])*)+$", "a JSON pointer such as /metadata/labels/example.com~1team"),
    Field(max_length=500),
]
"""A JSON pointer (RFC 6901) below the root of the object. ~1 is / and ~0 is ~ in a key."""


class Operation(SpecModel):
    """One operation of a JSON patch (RFC 6902)."""

    in_messages: ClassVar[str] = "{op: remove, path: /metadata/labels/team}"

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    """The operation: add, remove, replace, move or copy a value, or test that a value is as expected."""

    path: Pointer
    """The path of the value, for example /spec/template/metadata/labels/team. - is the end of a list."""

    from_: Pointer | None = Field(default=None, alias="from")
    """The path of the value to move or copy, for `op: move` and `op: copy`."""

    value: Any = None
    """The value for `op: add`, `op: replace` and `op: test`."""

    @model_validator(mode="after")
    def _has_members(self) -> Self:
        wanted = {"move": "from_", "copy": "from_", "remove": ""}.get(self.op, "value")
        for member in ("from_", "value"):
            if (member in self.model_fields_set) != (member == wanted):
                verb = "needs" if member == wanted else "has no"
                raise ValueError(f"the operation {self.op} {verb} {member.rstrip('_')}")
        return self


class Patch(SpecModel):
    """A change of objects that gpuc emits: a merge patch or a JSON patch."""

    target: PatchTarget
    """The objects that the patch changes."""

    patch: Annotated[
        Annotated[dict[str, Any], Tag("dict[merge]")]
        | Annotated[list[Operation], Field(min_length=1), Tag("list[operations]")],
        Discriminator(lambda value: "list[operations]" if isinstance(value, list) else "dict[merge]"),
    ]
    """A map is a JSON merge patch (RFC 7386): maps are merged, lists and scalars are replaced, and null removes a key.
    A list is a JSON patch (RFC 6902): its operations are applied in order."""

    why: Reason | None = None
    """The reason for the patch. The page of the cluster shows the reason."""

    accept: Accept = {}
    """Reasons by rule id for findings that are accepted for this patch."""
