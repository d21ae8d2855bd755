"""The controller of LeaderWorkerSets with its webhooks, on the control plane of a rehearsal."""

from __future__ import annotations

from gpuc.kubernetes.controllers import user
from gpuc_rehearsal.client import Client
from gpuc_rehearsal.plane.site import Site
from gpuc_rehearsal.process import Process
from gpuc_rehearsal.programs import Programs
from tests.conformance.local_controllers import LocalController

FRAMEWORK = "leaderworkerset.x-k8s.io/leaderworkerset"
NAME_LABEL = "leaderworkerset.sigs.k8s.io/name"
"""The label of every pod of a LeaderWorkerSet."""
USER = user("lws-system/lws-controller-manager")
_CONTROLLER = LocalController("lws", "config.lws.x-k8s.io/v1alpha1", "lws-system", NAME_LABEL, USER)


def crds(programs: Programs) -> tuple[bytes, ...]:
    """Returns the CustomResourceDefinitions of the controller."""
    return _CONTROLLER.crds(programs)


def start_lws(site: Site, client: Client, programs: Programs) -> Process:
    """Starts the controller, and creates its webhook configurations."""
    return _CONTROLLER.start(site, client, programs)
