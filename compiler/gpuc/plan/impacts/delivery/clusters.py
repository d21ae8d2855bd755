"""Impacts on whole clusters: new and removed clusters, and where Argo CD runs and deploys."""

from collections.abc import Iterator

from gpuc.cluster.application import ARGO, sync_options
from gpuc.cluster.pools import Pools
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import counted
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL, TENANT_KEY
from gpuc.plan.applications import cluster_name, cluster_subject, kept_applications
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pool_sizes import nodes_text
from gpuc.plan.pruning import kinds_text
from gpuc.plan.substrate import substrate_plan


@impact("IMP520", Level.NONE)
def cluster_added(change: Change) -> Impacts:
    """A cluster is new, and Argo CD syncs nothing until an administrator applies two of its objects."""
    if not change.is_new or not change.after.first_sync:
        return
    name = change.after.name
    found = change.after.applications
    charts = [application.chart.chart for application in found if application.chart]
    projects = [project for project in change.after.objects.of(ARGO, "AppProject") if project.name == name]
    files = dict.fromkeys(manifest.file for manifest in (*projects, *change.after.first_sync))
    message = (
        "Argo CD syncs nothing until an administrator applies the AppProject and the root Application; then Argo CD "
        f"creates {len(found)} Applications, which install {len(charts)} charts"
    )
    if old := change.other_name:
        kind = substrate_plan(change.after).cluster
        message = (
            f"is the new name of cluster {old}, with the same {kind}: when an administrator applies the "
            "AppProject and the root Application, its Applications take over the objects that run there"
        )
    details = (
        f"clusters/{name}/README.md has the steps before the first sync",
        f"the objects to apply: {', '.join(files)}",
        f"charts: {', '.join(charts)}",
    )
    yield Raised(f"cluster {name}", message, change.after.first_sync[0], (), details)


@impact("IMP508", Level.RESTRICTS)
def cluster_removed(change: Change) -> Impacts:
    """A cluster is removed from the fleet, but everything that runs in the cluster stays."""
    if not change.is_removed:
        return
    name, before = change.before.name, change.before.objects
    pools = before.once(Pools).pools
    counts = [pool.most_nodes for pool in pools]
    most = None if None in counts else sum(count or 0 for count in counts)
    pool_names = {pool.of_spec or pool.name for pool in pools}
    tenants = {space.labels[TENANT_KEY] for space in before.of("", "Namespace") if TENANT_KEY in space.labels}
    found = change.before.applications
    charts = " and ".join(application.name for application in found if not application.git_sources)
    besides = f" except {charts}" if charts else ""
    namespace = next((application.manifest.namespace for application in found), "argocd")
    if change.other_name:
        yield _renamed(change, namespace, besides)
        return
    message = (
        f"everything stays in the cluster, and Argo CD syncs nothing any more{besides}: {len(pool_names)} node pools "
        f"with {nodes_text(most)}, {len(tenants)} tenants and their workloads"
    )
    details = (
        f"to keep the cluster, restore its spec; to end it, first delete the root Application: kubectl delete "
        f"application {name}-root --namespace {namespace}, then the other Applications",
        substrate_plan(change.before).end,
    )
    yield Raised(f"cluster {name}", message, path=("spec",), details=details)


def _renamed(change: Change, namespace: str, besides: str) -> Raised:
    """Returns the impact on a cluster that has another name in the state after."""
    name, new, kind = change.before.name, change.other_name, substrate_plan(change.before).cluster
    message = (
        f"is cluster {new} from now on, which has the same {kind}: everything stays in the cluster, and Argo "
        f"CD syncs nothing{besides} until an administrator applies the root Application of {new}"
    )
    details = (
        f"delete no node pools and no other objects: {new} describes them, and its Applications take them over",
        f"before the first sync of {new}, delete the root Application of {name}, and then its other Applications: "
        f"kubectl delete application {name}-root --namespace {namespace}; their objects stay",
        f"objects that {new} does not describe stay; delete them by hand after the first sync",
    )
    return Raised(f"cluster {name}", message, path=("spec",), details=details)


@impact("IMP527", Level.RESTRICTS)
def argocd_moves(change: Change) -> Impacts:
    """Argo CD runs in another namespace, so the Applications move to this namespace."""
    removed = {pair.name: pair.namespace for pair in change.pairs(ARGO, "Application") if pair.is_removed}
    moved = [pair for pair in change.pairs(ARGO, "Application") if pair.is_added and pair.name in removed]
    if not moved:
        return
    pair = moved[0]
    old, new, name = removed[pair.name], pair.namespace, cluster_name(change)
    message = (
        f"{len(moved)} Applications move from namespace {old} to {new}: an administrator deletes the root Application "
        f"in {old} before the merge, and applies the one in {new} after it; until then Argo CD creates no Application"
    )
    details = (
        f"before the merge: kubectl delete application {name}-root --namespace {old}, so that two installations of "
        "Argo CD do not work on the same Applications",
        f"after the merge: kubectl apply --filename out/{name}/apps/project.yaml --filename clusters/{name}/root.yaml",
        f"then delete the other Applications in namespace {old}; their objects stay",
    )
    yield Raised(f"cluster {name}", message, pair.after, ("metadata", "namespace"), details)


@impact("IMP526", Level.DISRUPTS)
def destination_changes(change: Change) -> Impacts:
    """The Applications deploy to another cluster."""
    kept = kept_applications(change)
    found = [(old, new) for old, new in kept if old.destination.cluster != new.destination.cluster]
    if found:
        application = found[0][1]
        old, new = (side.destination.cluster for side in found[0])
        count = len(change.before.objects.manifests)
        noun = f"{counted(len(found), 'Application')} deploy{'s' if len(found) == 1 else ''}"
        message = (
            f"{noun} to {new} instead of {old}: Argo CD installs everything there, and "
            f"leaves the {count} objects of the state before in {old}"
        )
        details = (
            f"if {new} is another name of the same cluster, nothing changes in the cluster",
            f"if it is another cluster, first follow clusters/{cluster_name(change)}/README.md there",
        )
        field = "server" if application.destination.server else "name"
        yield Raised(cluster_subject(change), message, application.manifest, ("spec", "destination", field), details)


_OF_POOLS = ("NodePool", "NodeOverlay")
"""Kinds that lose the protection when their pool is marked as leaving, which impacts on node pools describe."""
_OPTIONS = ("metadata", "annotations", "argocd.argoproj.io/sync-options")
_PRUNE = ("spec", "syncPolicy", "automated", "prune")
_SETTING = ("spec", "delivery", "prune")
"""The setting of the spec that changes the protection and the Applications."""
_Row = tuple[str, tuple[str, ...], Manifest, Path]


@impact("IMP523", Level.NONE)
def deletion_protection_changes(change: Change) -> Impacts:
    """The protection of objects against deletion by Argo CD changes, or Applications begin or stop to prune objects."""
    has_setting = _SETTING in change.changed_paths(*_SETTING)
    for message, details, manifest, path in (*_protections(change), *_applications(change)):
        raised = Raised(cluster_subject(change), f"from now on, Argo CD {message}", manifest, path, details)
        yield raised._replace(manifest=None, path=_SETTING) if has_setting else raised


def _protections(change: Change) -> Iterator[_Row]:
    """Yields the message, the details, an object and its path for objects that lose the protection, or that get it."""
    found: dict[tuple[bool, ...], list[Manifest]] = {}
    for pair in change.all_pairs:
        if pair.before and pair.after and pair.manifest.api and pair.manifest.kind not in _OF_POOLS:
            states = tuple("Prune=false" in sync_options(manifest) for manifest in (pair.before, pair.after))
            found.setdefault(states, []).append(pair.after)
    texts = {
        "deletes objects of removed elements at the next sync, with their nodes, workloads and data": (True, False),
        "leaves objects of removed elements in the cluster": (False, True),
    }
    for text, states in texts.items():
        if manifests := found.get(states):
            details = (
                f"objects whose sync option Prune=false changes: {kinds_text(manifests)}",
                "objects that this change removes keep the option that they have in the cluster",
            )
            yield text, details, manifests[0], _OPTIONS


def _applications(change: Change) -> Iterator[_Row]:
    """Yields the message, the details, an object and its path for Applications that start or stop to prune."""
    before = {found.name: found.prunes for found in change.before.applications}
    changed = [found for found in change.after.applications if before.get(found.name, found.prunes) != found.prunes]
    texts = {
        True: (
            "also deletes objects that are removed from Git, except those with Prune=false",
            "objects that were removed from Git earlier are deleted too, at the next sync",
        ),
        False: (
            "deletes no objects that are removed from Git: revoked rights and removed network policies stay in force",
            "delete them by hand: the plan of a removal names the objects that stay",
        ),
    }
    for prunes, (text, sentence) in texts.items():
        if found := [application for application in changed if application.prunes is prunes]:
            names = ", ".join(application.name for application in found)
            yield text, (f"Applications: {names}", sentence), found[0].manifest, _PRUNE


_NOUNS = {"pools": "node pool", "queues": "queue", "tenants": "tenant", "namespaces": "namespace"}
_WITHOUT_QUEUE = "members can still create pods in namespaces without queues"
_FIRST = {
    "pools": "its queues have no quota for it, and it starts no new nodes; running work continues",
    "existing nodes": "its queues have no quota for it; running work continues",
    "queues": "it admits no new workloads; running work continues",
    "tenants": f"its queues admit no new workloads; {_WITHOUT_QUEUE}; running work continues",
    "namespaces": f"its queues admit no new workloads; {_WITHOUT_QUEUE}; running work continues",
}
_EMPTY = {
    "pools": f"kubectl get nodes --selector {POOL_LABEL}={{}}",
    "existing nodes": "kubectl get pods --all-namespaces --output wide names no pod of a tenant on its nodes",
    "queues": "kubectl get workloads --all-namespaces",
    "tenants": f"kubectl get namespaces --selector {TENANT_KEY}={{}}, and the pods in them",
    "namespaces": "kubectl get pods --namespace {}",
}


@impact("IMP509", Level.DISRUPTS)
def two_steps(change: Change) -> Impacts:
    """One commit removes or renames a node pool, queue, tenant or namespace in use, which needs two commits."""
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None:
        return
    existing = [pool.name for pool in before.pools if pool.scaling is None]
    for section, noun in _NOUNS.items():
        old, new = (_elements(cluster, section) for cluster in (before, after))
        added = [name for name in new if name not in old]
        removed = [name for name in old if name not in new]
        for name in removed:
            path, is_leaving = old[name]
            if is_leaving or (section == "namespaces" and path[2] not in _elements(after, "tenants")):
                continue
            renamed = f" (renamed to {added[0]}?)" if len(added) == len(removed) == 1 else ""
            message = f"is removed while it is in use{renamed}; merge two changes instead"
            kind = "existing nodes" if name in existing and section == "pools" else section
            details = (
                f"first change: keep {noun} {name} with leaving: true; {_FIRST[kind]}",
                f"second change: remove {noun} {name}, when it is empty: {_EMPTY[kind].format(name)}",
            )
            yield Raised(f"{noun} {name}", message, path=path, details=details)


def _elements(cluster: Cluster, section: str) -> dict[str, tuple[Path, bool]]:
    """Returns the elements of a section: the path, and whether they are leaving, by name.

    A queue is leaving too if all its namespaces are leaving, because then all its LocalQueues admit no workloads.
    """
    if section == "namespaces":
        return {
            namespace.name: (namespace.path, tenant.spec.leaving or namespace.spec.leaving)
            for tenant, namespace in cluster.namespaces
        }
    held: dict[str, bool] = {}
    for tenant, namespace in cluster.namespaces if section == "queues" else ():
        for queue in namespace.queues:
            held[queue.name] = held.get(queue.name, True) and (tenant.spec.leaving or namespace.spec.leaving)
    elements = getattr(cluster, section)
    return {found.name: (found.path, found.spec.leaving or held.get(found.name, False)) for found in elements}
