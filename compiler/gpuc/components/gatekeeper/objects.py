"""The objects that configure Gatekeeper: namespaces that it ignores, ConstraintTemplates and constraints."""

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.emit.pod_deletion import GPU_QUOTA, OWNED, pod_deletion
from gpuc.emit.policy_facts import FACTS
from gpuc.emit.sync import wave
from gpuc.kubernetes.api_groups import CONSTRAINT_API, TEMPLATES
from gpuc.kubernetes.argocd import OPTIONS
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster, Tenant
from gpuc.model.names import TENANT_KEY, WHY
from gpuc.policy.gatekeeper_objects import expansion_templates, template_source
from gpuc.policy.library import Policy

TEMPLATE_WAVE = 0
CONSTRAINT_WAVE = 5


def policy_objects(cluster: Cluster) -> Iterator[Artifact]:
    """Yields Gatekeeper's Config and ExpansionTemplates, and a ConstraintTemplate and constraints for each policy."""
    yield _config(cluster)
    yield from _expansions(cluster)
    for policy in cluster.policies.values():
        if policy.settings.keys() <= cluster.policy_settings(policy.name).keys():
            yield _template(cluster, policy)
            yield from _constraints(cluster, policy)
    origins = {name: policy_origin(cluster, cluster.policies.get(name)) for name in (GPU_QUOTA, OWNED)}
    yield from pod_deletion(cluster, origins, CONSTRAINT_WAVE)


def _config(cluster: Cluster) -> Manifest:
    # Gatekeeper copies the excluded namespaces of the webhook into every ValidatingAdmissionPolicy, in random order.
    # With more than one entry, Gatekeeper would rewrite these objects forever. The other platform namespaces have the
    # label admission.gatekeeper.sh/ignore.
    # Source: gatekeeper v3.23.0 pkg/controller/config/process/excluder.go, GetExcludedNamespaces
    match = [
        {"processes": ["audit"], "excludedNamespaces": list(cluster.platform_namespaces)},
        {"processes": ["webhook"], "excludedNamespaces": ["kube-system"]},
    ]
    annotations, namespace = wave(TEMPLATE_WAVE), cluster.components["gatekeeper"].namespace
    file, body = cluster.out("policies/templates/config.yaml"), {"spec": {"match": match}}
    api = "config.gatekeeper.sh/v1alpha1"
    return Manifest(file, policy_origin(cluster), api, "Config", "config", body, namespace, annotations=annotations)


def _expansions(cluster: Cluster) -> Iterator[Manifest]:
    file, origin = cluster.out("policies/templates/expansion.yaml"), policy_origin(cluster)
    api, kind, annotations = "expansion.gatekeeper.sh/v1beta1", "ExpansionTemplate", wave(TEMPLATE_WAVE)
    for name, spec in expansion_templates():
        yield Manifest(file, origin, api, kind, name, {"spec": spec}, annotations=annotations)


def _template(cluster: Cluster, policy: Policy) -> Manifest:
    file, origin = cluster.out(f"policies/templates/{policy.name}.yaml"), policy_origin(cluster, policy)
    names, schema = {"kind": policy.kind}, {"openAPIV3Schema": _parameter_schema(policy)}
    # No `operations`: the default is that of the webhook, CREATE and UPDATE. Gatekeeper writes operations of a template
    # in random order, and would rewrite its ValidatingAdmissionPolicy forever.
    # Source: gatekeeper v3.23.0 pkg/drivers/k8scel/transform/make_vap_objects.go, UnsortedList
    code = [{"engine": "K8sNativeValidation", "source": template_source(policy)}]
    targets = [{"target": "admission.k8s.gatekeeper.sh", "code": code}]
    body: Body = {"spec": {"crd": {"spec": {"names": names, "validation": schema}}, "targets": targets}}
    annotations = wave(TEMPLATE_WAVE) | {"metadata.gatekeeper.sh/title": policy.title, "description": policy.why}
    name = policy.kind.lower()
    return Manifest(file, origin, f"{TEMPLATES}/v1", "ConstraintTemplate", name, body, annotations=annotations)


def _parameter_schema(policy: Policy) -> Body:
    """Returns the schema of the parameters, without `properties` if the policy has no parameters.

    Gatekeeper writes annotations into the ConstraintTemplate and thereby drops empty maps, so the next sync would
    change the object again.

    Source: gatekeeper v3.23.0 pkg/controller/constrainttemplate/constrainttemplate_controller.go,
    updateTemplateWithBlockVAPBGenerationAnnotations
    """
    properties = {parameter.name: parameter.schema for parameter in policy.parameters}
    return {"type": "object", "properties": properties} if properties else {"type": "object"}


def _constraints(cluster: Cluster, policy: Policy) -> Iterator[Manifest]:
    if policy.is_per_tenant:
        for tenant in cluster.tenants:
            selector: Body = {"matchLabels": {TENANT_KEY: tenant.name}}
            parameters = _parameters(cluster, policy, tenant)
            yield _constraint(cluster, policy, f"{policy.name}-{tenant.name}", selector, parameters)
    elif cluster.tenants:
        selector = {"matchExpressions": [{"key": TENANT_KEY, "operator": "Exists"}]}
        yield _constraint(cluster, policy, policy.name, selector, _parameters(cluster, policy, cluster.tenants[0]))


def _constraint(cluster: Cluster, policy: Policy, name: str, selector: Body, parameters: Body) -> Manifest:
    # The kind exists only after Gatekeeper has processed the ConstraintTemplate.
    skip_dry_run = {OPTIONS: "SkipDryRunOnMissingResource=true"}
    spec: Body = {"enforcementAction": cluster.policy_stage(policy.name), "match": policy.match(selector)}
    if parameters:
        spec["parameters"] = parameters
    file, origin = cluster.out(f"policies/constraints/{policy.name}.yaml"), policy_origin(cluster, policy)
    annotations = wave(CONSTRAINT_WAVE) | skip_dry_run | {WHY: policy.why}
    return Manifest(file, origin, CONSTRAINT_API, policy.kind, name, {"spec": spec}, annotations=annotations)


def _parameters(cluster: Cluster, policy: Policy, tenant: Tenant) -> Body:
    """Returns all parameters, also empty lists.

    Without parameters, `params` is null. CEL engines treat null differently.
    """
    settings = cluster.policy_settings(policy.name)
    return {parameter.name: _value(parameter.fact, cluster, tenant, settings) for parameter in policy.parameters}


def _value(fact: str, cluster: Cluster, tenant: Tenant, settings: dict[str, Any]) -> Any:
    source, _, key = fact.partition(".")
    return settings[key] if source == "settings" else FACTS[fact](cluster, tenant)


def policy_origin(cluster: Cluster, policy: Policy | None = None) -> Path:
    """Returns the path in the spec that configures a policy, or otherwise the path that configures all policies."""
    if policy and policy.name in cluster.policy_specs:
        return ("spec", "policies", policy.name)
    return ("spec", "policies", "default") if "default" in cluster.policy_specs else ("spec", "policies")
