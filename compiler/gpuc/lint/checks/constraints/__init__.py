"""Checks of the Gatekeeper constraints of a cluster, with the ConstraintTemplates and all other objects."""
