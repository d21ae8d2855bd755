"""Checks of the Helm values for the chart versions that the cluster uses."""
