from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE119", Severity.WARNING)
def controller_of_disabled_framework(cluster: Cluster) -> Findings:
    """A controller is set for a framework that Kueue does not manage.

    The setting has no effect. The name of the framework may be misspelled, and policy gpu-quota then denies the pods of
    the controller.
    """
    frameworks = cluster.spec.kueue.frameworks
    for name in cluster.spec.kueue.controllers:
        if name not in frameworks:
            message = (
                f"kueue.controllers has framework {name}, which is not in kueue.frameworks: {', '.join(frameworks)}"
            )
            fix = f"add {name} to kueue.frameworks, or remove {name} from kueue.controllers"
            yield ("spec", "kueue", "controllers", name), f"{message}{did_you_mean(name, frameworks)}", fix
