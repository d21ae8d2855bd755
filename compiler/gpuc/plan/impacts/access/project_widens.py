from collections.abc import Iterator

from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact

_LISTS = {
    "clusterResourceWhitelist": "cluster-scoped kinds",
    "namespaceResourceWhitelist": "kinds",
    "destinations": "namespaces",
    "sourceRepos": "repositories",
}


@impact("IMP454", Level.NONE, source="argoproj/argo-cd v3.5.1 docs/user-guide/projects.md")
def project_widens(change: Change) -> Impacts:
    """An AppProject allows Argo CD to apply more.

    The Applications of the project can create objects of the added kinds, and objects in the added namespaces.
    """
    for pair in change.pairs("argoproj.io", "AppProject"):
        if pair.is_changed:
            added = [f"{name} {', '.join(found)}" for key, name in _LISTS.items() if (found := list(_added(pair, key)))]
            if added:
                message = f"allows Argo CD to apply more: {'; '.join(added)}"
                yield Raised(f"AppProject {pair.name}", message, pair.after, ("spec",))


def _added(pair: Pair, key: str) -> Iterator[str]:
    before, after = pair.values("spec", key)
    old = [entry for _, entry in items(before)]
    for _, entry in items(after):
        if entry not in old:
            if isinstance(entry, str):
                yield entry
            elif key == "destinations":
                yield str(dig(entry, "namespace"))
            else:
                yield "/".join(filter(None, (str(dig(entry, "group") or ""), str(dig(entry, "kind")))))
