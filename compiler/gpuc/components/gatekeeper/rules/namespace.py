from gpuc.model import Cluster
from gpuc.model.cluster import ALWAYS_PLATFORM
from gpuc.rules import Findings, Found, rule


@rule("CMP002", source="open-policy-agent/gatekeeper v3.23.0 charts/gatekeeper/templates (critical-pods-resourcequota)")
def gatekeeper_among_kubernetes(cluster: Cluster) -> Findings:
    """The namespace of Gatekeeper is a namespace of Kubernetes.

    The chart creates a ResourceQuota of 100 pods with the priority of system components. In kube-system, the
    ResourceQuota refuses pods of the network, of DNS and of all other add-ons beyond this number.
    """
    namespace = cluster.components["gatekeeper"].namespace
    if namespace in ALWAYS_PLATFORM:
        message = f"component gatekeeper has namespace {namespace}; expected a namespace of its own"
        yield Found(("spec", "components", "gatekeeper", "namespace"), message)
