"""TrainJobs: the CEL rules of the CustomResourceDefinition that concern new objects.

The webhook of Kubeflow Trainer reads the runtime of the TrainJob from the cluster, which gpuc does not.

Source: kubeflow/trainer v2.2.1 pkg/apis/trainer/v1alpha1/trainjob_types.go, pkg/webhooks/trainjob_webhook.go
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.problem import Problem, Problems, dns_label_1035, invalid, one_of, text
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig

_MANAGERS = ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+")


def train_job(document: Any) -> Problems:
    """Checks a TrainJob."""
    yield from dns_label_1035(("metadata", "name"), dig(document, "metadata", "name"))
    yield from one_of(("spec", "managedBy"), dig(document, "spec", "managedBy"), _MANAGERS)
    for name in ("dataset", "model"):
        path: Path = ("spec", "initializer", name, "storageUri")
        uri = text(dig(document, *path))
        if uri and not _URI.match(uri):
            yield invalid(path, uri, "a URI with a scheme such as hf://organization/name")
    message = "gpuc does not evaluate the webhook of Kubeflow Trainer, which reads the runtime of the TrainJob"
    yield Problem(("spec", "runtimeRef"), message, is_unchecked=True, check="webhook of Kubeflow Trainer")
