"""The section `tenants` of a spec: teams with their members, namespaces and network access."""

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, WithJsonSchema

from gpuc.spec.base import Accept, Name, SpecModel
from gpuc.spec.form import Form
from gpuc.spec.metadata import Annotations, Labels, LabelValue
from gpuc.spec.network import Host, Network
from gpuc.spec.queues import PoolAmount
from gpuc.spec.substrate import with_fields
from gpuc.spec.trains import Trains


def _group(text: str) -> str:
    if not text or len(text) > 253 or re.search(r"\s", text):
        raise ValueError(f'"{text}" is no group; expected 1 to 253 characters without spaces, such as oidc:research')
    return text


_GROUP_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 253, "pattern": r"^[^\s]+$"}
Groups = Annotated[list[Annotated[str, AfterValidator(_group), WithJsonSchema(_GROUP_SCHEMA)]], Field(min_length=1)]
"""Groups of the identity provider, for example oidc:research."""

Role = Literal["view", "edit", "admin"]


class Members(SpecModel):
    """Groups of users that have the same role in a tenant."""

    in_messages: ClassVar[str] = "{groups: [oidc:research], role: edit}"

    groups: Groups
    """Groups of the identity provider, with their names in Kubernetes, for example oidc:research."""

    role: Role
    """view reads objects, edit runs workloads, admin also manages service accounts.

    With none of the roles can members raise the quota of the tenant or change its NetworkPolicies."""

    namespaces: Annotated[list[Name], Field(min_length=1)] | None = None
    """The namespaces of the tenant in which the groups have the role. Default: all namespaces of the tenant."""


AnyMembers = Annotated[
    Annotated[Members, Tag("Members")] | Annotated[list[Members], Field(min_length=1), Tag("list[Members]")],
    Discriminator(lambda value: "list[Members]" if isinstance(value, list) else "Members"),
]
"""One map of members, or a list of maps if groups have different roles."""


class Auditors(SpecModel):
    """Groups that may read the objects of the platform and of all tenants.

    Auditors can get, list and watch objects. Auditors cannot read Secrets or the logs of pods, execute commands in
    pods, or write objects. Auditors can read ConfigMaps and environment variables, so do not write passwords there. If
    auditors may read the objects of only one tenant, write their groups in `members` with the role view.
    """

    in_messages: ClassVar[str] = "{groups: [oidc:audit]}"

    groups: Groups
    """Groups of the identity provider, with their names in Kubernetes, for example oidc:research."""


_DNS = "[a-z0-9]([a-z0-9.-]*[a-z0-9])?"
Token = Annotated[str, Form(r"^[^\s,*]{1,2048}$", "a name without spaces and commas")]
"""A name that objects use, for example of an IngressClass or of a certificate."""
GatewayName = Annotated[str, Form(f"^{_DNS}/{_DNS}$", "namespace/name of a Gateway, for example gateways/public")]
AnnotationKey = Annotated[
    str,
    Form(
        rf"^{_DNS}/[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?([.-]?\*)?$",
        "the key of an annotation, or a key that ends with .* for all keys with these first letters",
    ),
]


class Exposed(SpecModel):
    """What may make a namespace reachable from outside of the cluster. Default: nothing.

    Two policies refuse everything else if their stage is deny. The policy `exposure` checks fields of Services,
    Ingresses, Gateways, routes and Certificates. The policy `exposure-annotations` checks annotations of load balancer
    controllers, ingress-nginx, Cilium, external-dns and cert-manager. `gpuc explain KEY` says what an annotation needs.
    The policies check objects when they are written. The policies do not prove that no packet reaches the namespace,
    because they do not know what a controller does with an object.
    """

    in_messages: ClassVar[str] = "{loadBalancers: 1}"

    load_balancers: Annotated[int, Field(ge=0, le=1000)] = 0
    """The maximum number of Services of type LoadBalancer, a value of the ResourceQuota of the namespace."""

    node_ports: Annotated[int, Field(ge=0, le=1000)] = 0
    """The maximum number of node ports, a value of the ResourceQuota. A port of a load balancer needs one, unless
    its Service has `allocateLoadBalancerNodePorts: false`."""

    hosts: list[Host] = []
    """The host names of Ingresses, of listeners of Gateways and ListenerSets, of routes, of Certificates and of DNS
    records. An object without a host name needs none of them, and is refused where it would match all host names."""

    internet_facing: bool = False
    """Whether annotations may make a load balancer reachable from the internet: scheme internet-facing."""

    classes: list[Token] = []
    """Names of IngressClasses and GatewayClasses, and load balancer classes of Services, also the class that a webhook
    writes into every new Service of type LoadBalancer. An Ingress without a class has the default class of the
    cluster."""

    groups: list[Token] = []
    """Groups of objects with one load balancer or address: group.name of an Application Load Balancer, and sharing-key
    of Cilium. Members of a group can add rules to its load balancer, so list a group for one tenant."""

    gateways: list[GatewayName] = []
    """Gateways and ListenerSets of other namespaces, as namespace/name, that routes and ListenerSets may name in
    parentRefs. With a gateway, the roles edit and admin may write HTTPRoutes, GRPCRoutes and TLSRoutes. A TCPRoute or a
    UDPRoute takes all traffic of its listener."""

    certificates: list[Token] = []
    """Certificates of the cloud that annotations may name, for example their ARNs."""

    issuers: list[Token] = []
    """Issuers and ClusterIssuers of cert-manager that Certificates and annotations may name."""

    addresses: list[Token] = []
    """Addresses and allocation IDs of addresses that Services and Gateways may request."""

    external_names: list[Host] = []
    """Host names to which Services of type ExternalName may refer. An Ingress controller forwards requests there with
    its own network access."""

    annotations: list[AnnotationKey] = []
    """Further annotations of the controllers above that the namespace may use with all values. A key that ends with `*`
    grants all keys with these first letters. Most of them need no entry; `gpuc explain KEY` names those that do."""


def _account_name(text: str) -> str:
    if text == "default":
        raise ValueError(
            '"default" is the ServiceAccount of all pods that name no ServiceAccount, so all of these pods would get '
            "the IAM role; expected another name, which pods set in serviceAccountName"
        )
    if len(text) > 253 or not re.fullmatch(_ACCOUNT_NAME, text):
        raise ValueError(
            f'"{text}" is not a name of a ServiceAccount; expected at most 253 lower-case letters, digits, hyphens and '
            "dots, with a letter or digit at both ends and beside each dot"
        )
    return text


_ACCOUNT_NAME = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
AccountName = Annotated[
    str,
    AfterValidator(_account_name),
    WithJsonSchema({"type": "string", "maxLength": 253, "pattern": f"^{_ACCOUNT_NAME}$", "not": {"const": "default"}}),
]
"""The name of a ServiceAccount: a DNS subdomain name other than default."""


@with_fields
class ServiceAccount(SpecModel):
    """A ServiceAccount whose pods get the permissions of a role of the cloud, for example of an IAM role.

    Every member with the role edit or admin can start pods with every ServiceAccount of the namespace. So these members
    can use the role. Pods get a token for the API server only if `network.apiServer` of the tenant is true.
    """

    role: str


@with_fields
class Namespace(SpecModel):
    """A namespace of a tenant."""

    in_messages: ClassVar[str] = "{podSecurity: baseline}"

    pod_security: Literal["privileged", "baseline", "restricted"]
    """The Pod Security level that Kubernetes enforces in the namespace.

    EFA pods need privileged on AMIs other than AL2023 (capability IPC_LOCK).
    """

    nccl: Name | None = None
    """The NCCL profile of the namespace. gpuc writes the ConfigMap of the profile into the namespace."""

    quota: dict[Name, PoolAmount] = {}
    """The ResourceQuota of the namespace by pool, for pools with `counted: quota`."""

    queues: list[Name] | None = None
    """The queues in which the namespace may submit workloads. Default: all queues of the tenant.

    Namespaces with the same queue share its quota. For a separate quota, declare a queue for the namespace and list
    the queue here; at the other namespaces, list the other queues of the tenant.
    """

    service_accounts: dict[AccountName, ServiceAccount] = {}
    """ServiceAccounts with IAM roles by name. Pods choose one with serviceAccountName. Default: none."""

    volumes: dict[str, Any] = {}

    exposed: Exposed = Field(default_factory=Exposed.model_construct)
    """The ways in which Services of the namespace are reachable from outside of the cluster. Default: none."""

    leaving: bool = False
    """Whether the namespace will be removed. Its queues admit no new workloads; running workloads continue. In a
    namespace without queues, members can still create pods.

    A removal needs two commits. The first commit sets `leaving`, and the second commit removes the namespace from the
    spec.
    """


@with_fields
class Tenant(SpecModel):
    """A team with separate namespaces, quota and costs."""

    members: AnyMembers
    """The members of the tenant: a map with groups and their role, or a list of such maps for several roles."""

    cost_centre: LabelValue
    """The cost centre of the tenant. All namespaces of the tenant have the cost centre as a label."""

    tags: dict[str, str] = {}

    labels: Labels = {}
    """Labels of the namespaces of the tenant, of the objects that gpuc emits in them, and of the Application of the
    tenant's manifests. They replace labels of the cluster key by key. Cost tools such as OpenCost group the costs by
    labels of namespaces.

    ClusterQueues do not get the labels, because a queue can have several tenants.
    """

    annotations: Annotations = {}
    """Annotations of the namespaces of the tenant and of the objects that gpuc emits in them, like `labels`. At most
    16 KiB."""

    isolation: Literal["namespace", "network", "dedicated"]
    """How the tenant is separated from other tenants.

    namespace: RBAC, quotas and Pod Security. network: also NetworkPolicies. dedicated: also dedicated node pools.

    All GPU pools of a dedicated tenant are dedicated to the tenant, and all its pools without GPUs that do not have
    `shared: true`. On a shared pool, pods of the tenant run beside pods of other tenants, on the same nodes.
    """

    namespaces: Annotated[dict[Name, Namespace], Field(min_length=1)]
    """The namespaces of the tenant by name. gpuc creates them, with quotas, Pod Security and RBAC."""

    trains: dict[Name, Trains] = {}
    """Training runtimes by name. A TrainJob of the tenant names one in `runtimeRef`. They need component `trainer`."""

    network: Network = Field(default_factory=Network.model_construct)
    """Exceptions to the NetworkPolicies that deny all other traffic of the tenant."""

    leaving: bool = False
    """Whether the tenant will be removed. Its queues admit no new workloads; running workloads continue. In its
    namespaces without queues, members can still create pods.

    A removal needs two commits. The first commit sets `leaving`, and the second commit removes the tenant from the
    spec.
    """

    accept: Accept = {}
    """Reasons by id for findings, and for impacts of `gpuc plan`, that are accepted for the tenant."""
