"""The values of a cluster that parameters of policies can have, by name, each with a description.

A parameter of a policy names a value in its key `from` in policy.yaml. gpuc.emit.policy_facts contains the functions
that return the values.
"""

from gpuc.parts.folders import table_beside

FACTS: dict[str, str] = table_beside(__file__)
SETTINGS = "settings."
"""The prefix of a fact that is a setting of the policy in the spec."""
