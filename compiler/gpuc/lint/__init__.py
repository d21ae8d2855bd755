"""`gpuc lint`: reads Kubernetes YAML that gpuc did not write, and checks the objects in it."""

from gpuc.diagnostics.finding import rule_table

rule_of = rule_table(__file__)
"""Declares a rule of rules.toml by its id."""
