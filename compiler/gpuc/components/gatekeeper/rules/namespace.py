from gpuc.model import Cluster
from gpuc.model.cluster import ALWAYS_PLATFORM
from gpuc.rules import Findings, Found, rule


@rule("CMP002")
def gatekeeper_among_kubernetes(cluster: Cluster) -> Findings:
    """The namespace of Gatekeeper is a namespace of Kubernetes."""
    namespace = cluster.components["gatekeeper"].namespace
    if namespace in ALWAYS_PLATFORM:
        message = f"component gatekeeper has namespace {namespace}; expected a namespace of its own"
        yield Found(("spec", "components", "gatekeeper", "namespace"), message)
