"""Adds the labels and annotations of the spec to the objects that gpuc emits.

The labels and annotations are only in the metadata of objects, not in pod templates and not on nodes. A change
therefore starts no pods and replaces no nodes: the hashes for drift contain only `spec.template` of a NodePool and
`spec` of an EC2NodeClass.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go (Hash);
aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go (Hash)
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Artifact, Manifest
from gpuc.model import Cluster
from gpuc.model.cluster import SPEC
from gpuc.spec.cluster import Spec
from gpuc.spec.pools import Pool
from gpuc.spec.tenants import Tenant


def with_metadata(cluster: Cluster, artifacts: Iterable[Artifact]) -> list[Artifact]:
    """Returns the artifacts with the labels and annotations that the spec sets for the cluster, pools and tenants.

    The namespaces of a tenant, and the objects in them, get the labels and annotations of the tenant. Other objects get
    those of the pool or tenant from which gpuc emits the object. A value of the pool or tenant replaces the value of
    the cluster. No value replaces a label or annotation of gpuc.
    """
    sections = cluster.metadata_sections
    owners = {namespace.name: tenant.path for tenant, namespace in cluster.namespaces}

    def paths(manifest: Manifest) -> list[Path]:
        owner = owners.get(manifest.namespace, manifest.origin[: len(SPEC) + 2])
        return [owner, SPEC] if owner in sections and owner != SPEC else [SPEC]

    return [
        _with_metadata(artifact, {path: sections[path] for path in paths(artifact)})
        if isinstance(artifact, Manifest)
        else artifact
        for artifact in artifacts
    ]


def _with_metadata(manifest: Manifest, sections: Mapping[Path, Spec | Pool | Tenant]) -> Manifest:
    """Returns the object with labels and annotations of the spec.

    If sections have the same key, the first section applies.
    """
    texts: dict[str, dict[str, str]] = {"labels": dict(manifest.labels), "annotations": dict(manifest.annotations)}
    overrides = dict(manifest.overrides)
    for path, section in sections.items():
        values: Mapping[str, Mapping[str, str]] = {"labels": section.labels, "annotations": section.annotations}
        for field, known in texts.items():
            for key, value in sorted(values[field].items()):
                if key not in known:
                    known[key] = value
                    overrides["metadata", field, key] = (*path, field, key)
    if overrides == manifest.overrides:
        return manifest
    return replace(manifest, labels=texts["labels"], annotations=texts["annotations"], overrides=overrides)
