"""Diagnostics: rules, findings, suppressions, usage errors and reports."""
