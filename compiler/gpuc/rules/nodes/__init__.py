"""Nodes: images, and who brings driver, toolkit and device plugin."""
