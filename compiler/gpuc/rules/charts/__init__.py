"""Rules for the Helm charts that a spec adds under `charts`: their names, namespaces and kinds."""
