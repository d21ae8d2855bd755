"""The class of a request to create an object, and the class of a decision about the request."""

from typing import Literal, NamedTuple

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body, Manifest


class Request(NamedTuple):
    """A request to create an object in a namespace."""

    document: Body
    """The complete object: apiVersion, kind, metadata with name and namespace, spec; unvalidated."""
    user: str
    """The user name: of the user, or of the controller that creates the object."""
    groups: tuple[str, ...] = ()
    """The groups of the user, without system:authenticated."""
    claims: tuple[Body, ...] = ()
    """For a Pod, the PersistentVolumeClaims that the StatefulSet controller creates before the pod."""


class Decision(Struct, frozen=True):
    """The decision of one check about a request, for example of a policy or of a ResourceQuota.

    The outcome is "unknown" if gpuc cannot evaluate the check: the API server may deny the request. The outcome is
    "assumed" if the request needs an object that users create themselves, for example a Secret, and the input does not
    have this object. gpuc then assumes that the object exists.
    """

    outcome: Literal["allowed", "warned", "assumed", "denied", "unknown"]
    check: str
    """The name of the check in a report: "constraint images", "Pod Security restricted", "ResourceQuota gpuc"."""
    message: str
    """The reason for the outcome; empty for "allowed" without a remark."""
    manifest: Manifest | None = None
    """The object of the cluster that decides, for example the constraint; None if the API server itself decides."""
    path: Path = ()
    """The path in the object that decides."""
    field: Path = ()
    """The path of the field that causes the outcome in the document of the request; empty if it is unknown."""
    fix: str = ""
    """A change of the document with which the check allows the request; empty without a certain change."""
