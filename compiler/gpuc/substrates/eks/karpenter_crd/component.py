"""The CRDs of Karpenter as a separate component: the CRDs stay in the cluster when the controller is removed."""

from gpuc.emit.component import CRD, Component
from gpuc.emit.component_facts import READ, ChartLabels, nothing
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS

COMPONENT = Component(
    name="karpenter-crd",
    title="the CRDs of Karpenter",
    section=("spec", "cloud", "aws"),
    wave=-20,
    artifacts=None, is_needed=lambda cluster: True, may_need_refresh=True, keeps_definitions=True,
    chart_cluster_kinds=(CRD,),
    chart_kinds=(), cluster_kinds=(), kinds=(), folders=(), ignored=(), reasons={}, relied_defaults={},
    ineffective={}, ineffective_because="", namespace_labels={}, monitor=None, alerts={},
    alert_labels=lambda cluster: (), ready_check=None, preparation=None, chapter=None, member_rights=(),
    auditor_rights=(
        (KARPENTER_AWS, ("ec2nodeclasses",), READ),
        (KARPENTER, ("nodeclaims", "nodeoverlays", "nodepools"), READ),
    ),
    calls=None, restarts=None, hashed_values={},
    chart_labels=ChartLabels(services={}, pods={}),
    device_plugin=None, config_maps=(), rehearsal=None, needs=nothing,
)  # fmt: skip
