"""The webhook of Kubeflow Trainer, which reads the runtime of the TrainJob from the cluster. gpuc does not read it."""

from gpuc.admission.request import Decision
from gpuc.admission.validation.field import Field, Problems


def _runtime(document: Field) -> Problems:
    message = "gpuc does not evaluate the webhook of Kubeflow Trainer, which reads the runtime of the TrainJob"
    yield Decision("unknown", "webhook of Kubeflow Trainer", message, field=("spec", "runtimeRef"))
