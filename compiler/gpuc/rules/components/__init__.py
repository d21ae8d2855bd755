"""Rules for components, the Helm charts that gpuc configures: who installs the charts, and their namespaces."""
