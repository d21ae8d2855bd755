"""The rules about the keys and the types of values in a spec."""

from gpuc.diagnostics.finding import rule_table

rule_of = rule_table(__file__)
UNKNOWN = rule_of("SPC001")
MISSING = rule_of("SPC002")
TYPE = rule_of("SPC003")
VALUE = rule_of("SPC004")
CHOICE = rule_of("SPC005")
NUMBER = rule_of("SPC006")
