"""The rights of groups, users and tenants' service accounts before and after a change."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.isolation.access import SERVICE_ACCOUNT, Access
from gpuc.isolation.access.permissions import WITHOUT_NAME, Grant
from gpuc.isolation.tenancy import labelled_tenancy
from gpuc.kubernetes.api_groups import RBAC
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change
from gpuc.plan.pruning import with_left
from gpuc.plan.state import State


class Right(NamedTuple):
    """The permission for one verb on one resource, for example "get" on "pods". The value "*" means all."""

    verb: str
    group: str
    resource: str
    name: str = ""
    """The name of the object; empty for all objects."""

    def is_in(self, rights: "set[Right]") -> bool:
        """Returns whether a set of rights includes this right, for example because of a right with the verb "*"."""
        wider = product((self.verb, "*"), (self.group, "*"), (self.resource, "*"), (self.name, ""))
        return any(Right(*right) in rights for right in wider)


EVERYWHERE = ""
"""The namespace of rights in the complete cluster."""
_KINDS = tuple((RBAC, kind) for kind in ("RoleBinding", "ClusterRoleBinding", "Role", "ClusterRole"))
_WRITING = ("*", "create", "update", "patch", "delete", "deletecollection", "impersonate", "bind", "escalate")
_READ = {"get", "list", "watch"}
_WRITE = {"create", "update", "patch", "delete"}
_WRITE_ALL = _WRITE | {"deletecollection"}
_SENSITIVE = ("secrets", "pods/exec", "rolebindings", "roles", "pods", "jobs")
_SHOWN = 4
"""The maximum number of resources in a message."""


class Rights(Struct):
    """The roles and rights that a subject (user, group or ServiceAccount) has in a namespace."""

    roles: set[str] = field(default_factory=set)
    rights: set[Right] = field(default_factory=set)
    binding: Manifest | None = None
    """The first binding that gives the rights."""
    path: Path = ()
    """The path of the subject in the binding."""


class RightsChange(Struct, frozen=True):
    """The rights that a subject gains or loses in one or more namespaces."""

    subject: str
    """For example "group oidc:nlp"."""
    namespaces: tuple[str, ...]
    roles_before: tuple[str, ...]
    roles_after: tuple[str, ...]
    rights: frozenset[Right]
    """The rights that are gained or lost."""
    binding: Manifest | None
    path: Path

    @property
    def where(self) -> str:
        """The namespaces in words, for example "namespace nlp"; "the complete cluster" for rights in all namespaces."""
        if self.namespaces == (EVERYWHERE,):
            return "the complete cluster"
        return kind_of(self.namespaces, "namespace")

    def action(self, new: str, same: str) -> str:
        """Returns a sentence without a subject about the role, for example "gets role edit in namespace nlp".

        Args:
            new: the verb if the subject has no role before or after the change, for example "gets" or "loses".
            same: the verb if the role stays, and only its rights differ, for example "can do more".
        """
        before, after = ", ".join(self.roles_before), ", ".join(self.roles_after)
        if not before or not after:
            return f"{new} role {after or before} in {self.where}"
        if before != after:
            return f"has role {after} instead of {before} in {self.where}"
        return f"{same} with role {after} in {self.where}"


def gained(change: Change) -> Iterator[RightsChange]:
    """Yields the rights that subjects gain. One RightsChange has all namespaces where a subject gains equal rights."""
    if _changes_rights(change):
        yield from _grouped(_rights(change.before), _rights(state_with_roles(change)), is_gain=True)


def lost(change: Change) -> Iterator[RightsChange]:
    """Yields the rights that subjects lose in namespaces that exist before and after the change."""
    if not _changes_rights(change):
        return
    kept = {EVERYWHERE, *change.after.objects.namespaces}
    before = {key: rights for key, rights in _rights(change.before).items() if key[1] in kept}
    yield from _grouped(before, _rights(state_with_roles(change)), is_gain=False)


def rights_text(rights: Iterable[Right]) -> str:
    """Returns the most important rights in words: rights to write first, for example "write pods, batch/jobs"."""
    verbs: dict[tuple[int, str], set[str]] = defaultdict(set)
    for right in rights:
        rank = _SENSITIVE.index(right.resource) if right.resource in _SENSITIVE else len(_SENSITIVE)
        verbs[rank, f"{right.group}/{right.resource} {right.name}".strip("/ ")].add(right.verb)
    writing = {key: found & set(_WRITING) or found for key, found in verbs.items()}
    ordered = sorted(writing, key=lambda key: (not writing[key] & set(_WRITING), key))
    groups: dict[str, list[str]] = defaultdict(list)
    for key in ordered[:_SHOWN]:
        groups[_verb_words(writing[key])].append(key[1])
    text = "; ".join(f"{verb} {', '.join(names)}" for verb, names in groups.items())
    return text + (f"; and {len(ordered) - _SHOWN} more resources" if len(ordered) > _SHOWN else "")


def _verb_words(found: set[str]) -> str:
    """Returns verbs in words. Verbs that belong together become "read" or "write"."""
    if "*" in found:
        return "use all verbs of"
    words = [word for word, verbs in (("read", _READ), ("write", _WRITE)) if verbs <= found]
    left = found - {verb for word in words for verb in {"read": _READ, "write": _WRITE_ALL}[word]}
    return ", ".join([*words, *sorted(left)])


def _changes_rights(change: Change) -> bool:
    return any(pair.fields for kind in (*_KINDS, ("", "Namespace")) for pair in change.pairs(*kind))


@lru_cache(maxsize=4)
def state_with_roles(change: Change) -> State:
    """Returns the state after, plus the removed roles and bindings that Argo CD leaves: these objects grant rights."""
    return with_left(change, _KINDS)


@lru_cache(maxsize=4)
def _rights(state: State) -> dict[tuple[str, str], Rights]:
    """Returns the rights by subject and namespace; EVERYWHERE is the namespace of ClusterRoleBindings."""
    access = Access(state.objects, labelled_tenancy(state.objects))
    found: dict[tuple[str, str], Rights] = defaultdict(Rights)
    for bound in access.all_bound_roles():
        if bound.subject.startswith(SERVICE_ACCOUNT) and not bound.tenants:
            continue  # a service account of the platform
        rights = found[bound.subject, bound.namespace]
        rights.roles.add(bound.role_name)
        for rule in access.rules(bound):
            rights.rights |= _granted(rule.grant)
        if rights.binding is None:
            rights.binding, rights.path = bound.binding, ("subjects", bound.subject_index)
    return dict(found)


def _granted(grant: Grant) -> set[Right]:
    """Returns the rights of a rule."""
    verbs = grant.verbs - WITHOUT_NAME if grant.names else grant.verbs
    return {Right(*right) for right in product(verbs, grant.groups, grant.resources, grant.names or ("",))}


def _grouped(
    before: dict[tuple[str, str], Rights], after: dict[tuple[str, str], Rights], *, is_gain: bool
) -> Iterator[RightsChange]:
    found: list[RightsChange] = []
    for key in dict.fromkeys((*after, *before)):
        old, new = before.get(key, Rights()), after.get(key, Rights())
        more, less = (new.rights, old.rights) if is_gain else (old.rights, new.rights)
        if difference := frozenset(right for right in more if not right.is_in(less)):
            place = new if new.binding is not None else old
            roles = tuple(sorted(old.roles)), tuple(sorted(new.roles))
            found.append(RightsChange(key[0], (key[1],), *roles, difference, place.binding, place.path))
    same = grouped(found, lambda rights: (rights.subject, rights.roles_before, rights.roles_after, rights.rights))
    for first, *others in same.values():
        yield replace(first, namespaces=(*first.namespaces, *(name for other in others for name in other.namespaces)))
