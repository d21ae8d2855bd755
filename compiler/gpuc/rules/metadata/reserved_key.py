from gpuc.catalog.reserved_keys import reserved_key as reservation
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


@rule("MET001")
def reserved_key(cluster: Cluster) -> Findings:
    """The spec sets a label or an annotation that a program of the platform reads, so the key is reserved."""
    for path, section in cluster.metadata_sections.items():
        for field, keys in (("labels", section.labels), ("annotations", section.annotations)):
            for key in keys:
                if entry := reservation(key):
                    message = f"{key} is reserved: {entry.effect}; expected a key such as example.com/owner"
                    yield Found((*path, field, key), message)
