"""Settings of the Helm charts that gpuc installs."""

from typing import Any

from gpuc.spec.base import Accept, SpecModel
from gpuc.spec.charts import ChartRepository
from gpuc.spec.platform import NamespaceName


class ComponentSettings(SpecModel):
    """Settings of one component. A component is a Helm chart that gpuc installs."""

    managed: bool = True
    """Whether gpuc installs the chart. With false, another team installs the chart, and gpuc emits only the objects."""

    namespace: NamespaceName | None = None
    """The namespace of the component. Default: the namespace in the release set."""

    repository: ChartRepository | None = None
    """The repository of the chart, for example a mirror. Default: the repository in the release set. The mirror has the
    chart with the same name and version. The images of the chart are Helm values."""

    values: dict[str, Any] = {}
    """Helm values, merged over the values of gpuc: maps are merged, lists and scalars are replaced. null removes a
    value of gpuc and the default of the chart, as in Helm. A map for a YAML text, such as the configuration of Kueue,
    is merged into the text."""

    accept: Accept = {}
    """Reasons by rule id for findings that are accepted for this component."""
