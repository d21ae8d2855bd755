"""Finds the fields of an object that the API server, a CustomResourceDefinition or a job controller's webhook refuses.

`validation_errors` checks a new object; `with_defaults` returns the object with the defaults of the API server. The
versions are Kubernetes 1.35.4, Kueue 0.19.2, JobSet 0.12.0, LeaderWorkerSet 0.9.0, KubeRay 1.6.2, training operator
1.9.3 and Kubeflow Trainer 2.2.1.
"""

from gpuc.admission.validation.validation import validation_errors, with_defaults

__all__ = ["validation_errors", "with_defaults"]
