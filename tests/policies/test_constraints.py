"""Emitted constraints: they match tenants only, have valid parameters, and allow the emitted objects."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from msgspec.structs import replace

from gpuc.components.gatekeeper.component import gatekeeper
from gpuc.components.kueue.component import kueue
from gpuc.emit.policy_facts import FACTS
from gpuc.emit.tenants import tenants
from gpuc.manifest.manifest import Manifest, Values
from gpuc.model import Cluster, Tenant
from gpuc.model.names import POOL_LABEL
from gpuc.policy.facts import FACTS as DESCRIBED
from gpuc.policy.library import EXAMPLES, TABLE, policies
from tests.derive.policies import examples_text, table_text

from .kubernetes_cel import Object, Review, denials


def emitted(cluster: Cluster, api: str) -> list[Manifest]:
    return [
        manifest for manifest in gatekeeper(cluster) if isinstance(manifest, Manifest) and manifest.api.startswith(api)
    ]


def constraints(cluster: Cluster) -> list[Manifest]:
    return emitted(cluster, "constraints.gatekeeper.sh/")


def parameters(cluster: Cluster, name: str) -> Object:
    (found,) = (constraint for constraint in constraints(cluster) if constraint.name == name)
    result: Object = found.body["spec"].get("parameters", {})
    return result


def refused(cluster: Cluster, policy: str, constraint: str, document: Object) -> dict[int, str]:
    packaged = policies()[policy]
    return denials(packaged.variables, packaged.validations, parameters(cluster, constraint), Review.of(document))


def selects(constraint: Manifest, labels: dict[str, str]) -> bool:
    selector = constraint.body["spec"]["match"]["namespaceSelector"]
    wanted = selector.get("matchLabels", {})
    needed = [
        expression["key"] for expression in selector.get("matchExpressions", []) if expression["operator"] == "Exists"
    ]
    assert wanted or needed, "an empty selector selects every namespace"
    return all(labels.get(key) == value for key, value in wanted.items()) and all(key in labels for key in needed)


def strict(schema: Any) -> Any:
    """Returns the schema with all properties required and no additional properties."""
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if "properties" in made and schema.get("type") == "object":
        made["properties"] = {key: strict(value) for key, value in schema["properties"].items()}
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made


def test_constraints_state_every_parameter_that_their_template_declares(prod: Cluster) -> None:
    schemas = {
        template.body["spec"]["crd"]["spec"]["names"]["kind"]: template.body["spec"]["crd"]["spec"]["validation"]
        for template in emitted(prod, "templates.gatekeeper.sh/")
    }
    for constraint in constraints(prod):
        schema = strict(schemas[constraint.kind]["openAPIV3Schema"])
        assert list(jsonschema_rs.iter_errors(schema, constraint.body["spec"].get("parameters", {}))) == []


def test_templates_have_no_empty_maps_which_gatekeeper_drops(prod: Cluster) -> None:
    """Otherwise, every sync after Gatekeeper's update changes the template, and its generation grows."""

    def empty(value: Any) -> bool:
        if isinstance(value, dict | list):
            return not value or any(map(empty, value.values() if isinstance(value, dict) else value))
        return value is None

    templates = emitted(prod, "templates.gatekeeper.sh/")
    schemas = [template.body["spec"]["crd"]["spec"]["validation"]["openAPIV3Schema"] for template in templates]
    assert {"type": "object"} in schemas, "a policy without parameters"
    assert [template.name for template in templates if empty(template.body)] == []


DEVICE_VARIABLES = ("NVIDIA_GDS", "NVIDIA_MOFED", "NVIDIA_GDRCOPY", "NVIDIA_NVSWITCH")


@pytest.mark.parametrize("variable", DEVICE_VARIABLES)
def test_c12_no_variable_gives_a_container_devices_that_it_did_not_request(prod: Cluster, variable: str) -> None:
    metadata = {"name": "x", "namespace": "research-train"}
    for value in ({"value": "enabled"}, {"value": "$(OTHER)"}, {"valueFrom": {"fieldRef": {}}}):
        container = {"name": "main", "image": "registry.example.com/x:1", "env": [{"name": variable, **value}]}
        container["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
        bad = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
        assert refused(prod, "visible-devices", "visible-devices", bad)
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {variable: "enabled"}}
    assert refused(prod, "visible-devices", "visible-devices", settings)


def test_c26_a_tenant_serves_only_the_declared_hosts(prod: Cluster) -> None:
    def ingress(namespace: str, *hosts: str) -> Object:
        spec = {"rules": [{"host": host} for host in hosts]}
        metadata = {"name": "x", "namespace": namespace}
        return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}

    own = ("search.example.com", "v2.search.example.com")
    assert not refused(prod, "exposure", "exposure-search", ingress("search-serving", *own))
    assert refused(prod, "exposure", "exposure-search", ingress("search-train", "search.example.com"))
    assert refused(prod, "exposure", "exposure-search", ingress("search-serving", "evilsearch.example.com"))
    assert refused(prod, "exposure", "exposure-research", ingress("research-lab", "search.example.com"))
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "namespace": "research-lab"}}
    assert refused(prod, "exposure", "exposure-research", service | {"spec": {"externalIPs": ["10.0.0.1"]}})


def test_c21_the_memory_of_the_audit_grows_with_the_cluster(prod: Cluster) -> None:
    pool = prod.pools[0]
    spec = pool.spec.model_copy(update={"nodes": pool.spec.nodes.model_copy(update={"max": 500})})
    large = replace(prod, pools=(replace(pool, spec=spec),))
    (values,) = (artifact.body for artifact in gatekeeper(large) if isinstance(artifact, Values))
    assert values["audit"]["resources"]["limits"]["memory"] == "3Gi"


def test_templates_are_named_after_their_kind(prod: Cluster) -> None:
    templates = emitted(prod, "templates.gatekeeper.sh/")
    kinds = [template.body["spec"]["crd"]["spec"]["names"]["kind"] for template in templates]
    assert [kind.lower() for kind in kinds] == [template.name for template in templates]
    assert len(templates) == len(policies())


def test_the_fence_lets_our_own_network_policies_through(prod: Cluster) -> None:
    owner = {namespace.name: tenant.name for tenant, namespace in prod.namespaces}
    found = [
        manifest for manifest in tenants(prod) if isinstance(manifest, Manifest) and manifest.kind == "NetworkPolicy"
    ]
    assert {owner[manifest.namespace] for manifest in found} == {tenant.name for tenant in prod.tenants}
    for manifest in found:
        constraint = f"network-policy-fence-{owner[manifest.namespace]}"
        assert refused(prod, "network-policy-fence", constraint, manifest.document()) == {}, str(manifest)


def test_our_own_config_maps_choose_no_gpus(prod: Cluster) -> None:
    found = [manifest for manifest in tenants(prod) if isinstance(manifest, Manifest) and manifest.kind == "ConfigMap"]
    assert found
    for manifest in found:
        assert refused(prod, "visible-devices", "visible-devices", manifest.document()) == {}, str(manifest)


def flavored_pods(cluster: Cluster) -> Iterator[tuple[str, Object]]:
    """Yields (tenant, a pod that Kueue has changed) for all flavors of the queues of tenants."""
    manifests = [manifest for manifest in kueue(cluster) if isinstance(manifest, Manifest)]
    flavors = {manifest.name: manifest.body["spec"] for manifest in manifests if manifest.kind == "ResourceFlavor"}
    for tenant in cluster.tenants:
        for pool in (pool for queue in tenant.queues for pool in queue.pools):
            flavor = flavors[pool.name]
            spec = {"nodeSelector": flavor["nodeLabels"], "containers": [container(pool.gpu_resource_names)]}
            metadata = {"name": pool.name, "namespace": tenant.namespaces[0].name}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
            yield tenant.name, pod | {"spec": spec | {"tolerations": flavor.get("tolerations", [])}}


def container(resources: tuple[str, ...]) -> Object:
    limits = dict.fromkeys(resources[:1], "1")
    return {"name": "main", "image": "registry.example.com/train:1", "resources": {"limits": limits}}


@pytest.mark.parametrize("policy", ["toleration-fence", "pool-selector", "gpu-limits", "gpu-resources", "gpu-queue"])
def test_what_kueue_writes_into_a_tenants_pod_passes(prod: Cluster, policy: str) -> None:
    for tenant, pod in flavored_pods(prod):
        assert refused(prod, policy, f"{policy}-{tenant}", pod) == {}, pod["metadata"]["name"]


def test_the_policies_allow_the_pods_of_namespaces_with_a_quota(prod: Cluster) -> None:
    counted = [(tenant.name, pod) for tenant in prod.tenants for pod in pods_with_quota(tenant)]
    assert {tenant for tenant, _ in counted} == {"search", "platform-ml"}
    for policy in ("toleration-fence", "pool-selector", "gpu-limits", "gpu-resources", "gpu-queue", "gpu-quota"):
        for tenant, pod in counted:
            assert refused(prod, policy, f"{policy}-{tenant}", pod) == {}, pod["metadata"]["name"]


def test_what_a_tenants_own_pool_needs_does_not_pass_for_another_tenant(prod: Cluster) -> None:
    (dedicated,) = (pod for tenant in prod.tenants for pod in pods_with_quota(tenant) if tenant.name == "platform-ml")
    assert refused(prod, "toleration-fence", "toleration-fence-research", dedicated)
    assert refused(prod, "gpu-resources", "gpu-resources-search", dedicated)


def pods_with_quota(tenant: Tenant) -> Iterator[Object]:
    """Yields a pod for each pool on which a namespace has a ResourceQuota."""
    for namespace in tenant.namespaces:
        for pool in (quota.pool for quota in namespace.quotas):
            spec = {"nodeSelector": {POOL_LABEL: pool.name}, "containers": [container(pool.gpu_resource_names)]}
            spec["tolerations"] = [taint.toleration() for taint in pool.taints]
            metadata = {"name": pool.name, "namespace": namespace.name}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_every_fact_that_a_policy_names_exists() -> None:
    for policy in policies().values():
        for parameter in policy.parameters:
            source, _, key = parameter.fact.partition(".")
            assert parameter.fact in FACTS or (source == "settings" and key in policy.settings), policy.name


def test_every_fact_is_described() -> None:
    assert sorted(FACTS) == list(DESCRIBED)


def test_the_table_is_up_to_date_with_the_folders() -> None:
    assert TABLE.read_text(encoding="utf-8") == table_text(), "run make generate"
    assert EXAMPLES.read_text(encoding="utf-8") == examples_text(), "run make generate"
