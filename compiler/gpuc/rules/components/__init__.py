"""Rules for components: who installs their charts, and their namespaces."""
