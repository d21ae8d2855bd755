"""Diagnostics: rules, findings, acceptances of findings, errors of the command line, and reports."""
