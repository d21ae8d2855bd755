"""Admission policies: the policies that come with gpuc (its library), and the policies of a fleet."""

from gpuc.diagnostics.finding import rule_table

rule_of = rule_table(__file__)
"""Declares a rule of rules.toml by its id."""
