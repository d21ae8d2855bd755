"""Names of the facts of a cluster that a policy parameter can name under `from`, with their values in words.

gpuc.emit.policy_facts contains the functions that return the values.
"""

from gpuc.parts.folders import table_beside

FACTS: dict[str, str] = table_beside(__file__)
SETTINGS = "settings."
"""The prefix of a fact that is a setting of the policy in the spec."""
