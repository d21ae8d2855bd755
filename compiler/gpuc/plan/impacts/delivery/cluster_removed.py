from gpuc.cluster.pools import Pools
from gpuc.model.names import TENANT_KEY
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import nodes_text


@impact(
    "IMP508",
    Level.RESTRICTS,
    source="argo-cd v3.5.1 docs/user-guide/app_deletion.md; controller/state.go, ComparisonError; "
    "util/app/path/path.go, ErrMessageAppPathDoesNotExist",
)
def cluster_removed(change: Change) -> Impacts:
    """A cluster is removed from the fleet, and everything in the cluster stays.

    The Applications find no folder or no values any more, and Argo CD neither changes nor deletes their objects. An
    Application that reads only a chart goes on to sync. Karpenter goes on to start nodes, which cost, until an
    administrator deletes the node pools. If another spec of the same EKS cluster is added, the cluster has a new name,
    and the objects belong to the new name after its first sync.
    """
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
        yield _renamed(name, change.other_name, namespace, besides)
        return
    message = (
        f"everything stays in the cluster, and Argo CD syncs nothing any more{besides}: {len(pool_names)} node pools "
        f"with {nodes_text(most)}, {len(tenants)} tenants and their workloads"
    )
    details = (
        f"to keep the cluster, restore its spec; to end it, first delete the root Application: kubectl delete "
        f"application {name}-root --namespace {namespace}, then the other Applications",
        "then kubectl delete nodepools --all, and wait until no NodeClaim is left: Karpenter has to drain and end its "
        "instances before EKS deletes the cluster",
    )
    yield Raised(f"cluster {name}", message, path=("spec",), details=details)


def _renamed(name: str, new: str, namespace: str, besides: str) -> Raised:
    """Returns the impact on a cluster that has another name in the state after."""
    message = (
        f"is cluster {new} from now on, which has the same EKS cluster: everything stays in the cluster, and Argo "
        f"CD syncs nothing{besides} until an administrator applies the root Application of {new}"
    )
    details = (
        f"delete no node pools and no other objects: {new} describes them, and its Applications take them over",
        f"before the first sync of {new}, delete the root Application of {name}, and then its other Applications: "
        f"kubectl delete application {name}-root --namespace {namespace}; their objects stay",
        f"objects that {new} does not describe stay; delete them by hand after the first sync",
    )
    return Raised(f"cluster {name}", message, path=("spec",), details=details)
