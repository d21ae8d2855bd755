"""Nodes: AMIs, and the source of driver, container toolkit and device plugin."""
