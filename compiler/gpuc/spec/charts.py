"""Further charts: Helm charts that a spec adds to the charts that gpuc configures by itself."""

import re
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from gpuc.spec.base import Accept, Name, SpecModel
from gpuc.spec.form import Form, Words, text_error
from gpuc.spec.platform import NamespaceName

LAST_WAVE = 101
"""The sync wave of charts and manifests. A sync does not wait until its last wave is healthy.

Source: argoproj/argo-cd v3.5.1 gitops-engine/pkg/sync/sync_context.go (Sync: remainingTasks)
"""

KindName = Annotated[
    str,
    Form(
        r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Z][A-Za-z0-9]*$",
        "a kind such as Service, or an API group and a kind such as apps/Deployment",
    ),
    Field(max_length=317),
]
"""A kind with its API group, for example apps/Deployment; only the kind for the core group, for example Service."""


_REPOSITORY_WORDS = "the URL of charts, which begins with https:// or oci://"
_REPOSITORY = r"^(https|oci)://[A-Za-z0-9@:/._~-]+$"


def _repository(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(_REPOSITORY, value):
        secure = re.sub("^http://", "https://", value)
        raise text_error(_REPOSITORY_WORDS, secure if re.fullmatch(_REPOSITORY, secure) else "")
    if isinstance(value, str) and value.startswith("oci://") and value.endswith("/"):
        raise text_error("the URL of an OCI registry without / at the end", value.rstrip("/"))
    return value


ChartRepository = Annotated[
    str, Field(pattern=_REPOSITORY, max_length=400), BeforeValidator(_repository), Words(_REPOSITORY_WORDS)
]
"""The URL of a Helm repository (https://) or of an OCI registry (oci://), without the name of the chart."""


class ChartKinds(SpecModel):
    """The kinds of all objects that a chart creates. Kinds of Helm hooks and of custom resources are included."""

    in_messages: ClassVar[str] = "{namespaced: [apps/Deployment]}"

    cluster: list[KindName] = []
    """Cluster-scoped kinds, for example rbac.authorization.k8s.io/ClusterRole."""

    namespaced: list[KindName] = []
    """Namespaced kinds, for example apps/Deployment."""

    @model_validator(mode="after")
    def _has_kinds(self) -> Self:
        if not self.cluster and not self.namespaced:
            raise ValueError("name at least one kind; `helm template` lists the kinds of a chart")
        return self


class Chart(SpecModel):
    """A Helm chart that Argo CD installs. The chart has its own AppProject."""

    repository: ChartRepository
    """The URL of the Helm repository or of the OCI registry, without the name of the chart."""

    chart: Annotated[
        str,
        Form(r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$", "the name of a chart such as cert-manager, without its repository"),
        Field(max_length=100),
    ]
    """The name of the chart in the repository."""

    version: Annotated[
        str,
        Form(r"^v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$", "an exact version such as 1.21.1 or v1.21.1"),
        Field(max_length=100),
    ]
    """The exact version of the chart."""

    namespace: NamespaceName
    """The namespace of the Helm release. Argo CD creates the namespace, unless the platform or a tenant has it."""

    wave: Annotated[int, Field(ge=-9, le=LAST_WAVE)] = LAST_WAVE
    """The sync wave. The default is the last wave, together with manifests: nothing waits for the chart.

    Argo CD waits for the chart before it syncs later waves. While the chart is not healthy, the root Application then
    takes up no other commit. The objects of gpuc are in waves up to 30.
    """

    kinds: ChartKinds
    """The kinds of the chart's objects. The AppProject permits no other kinds."""

    namespaces: list[NamespaceName] = []
    """Other namespaces in which the chart has objects. The AppProject permits only `namespace` and these."""

    tenant: Name | None = None
    """The tenant for which the chart is installed, in a namespace of the tenant. Default: the platform."""

    values: dict[str, Any] = {}
    """The Helm values of the chart."""

    accept: Accept = {}
    """Reasons by rule id for findings that are accepted for the chart."""
