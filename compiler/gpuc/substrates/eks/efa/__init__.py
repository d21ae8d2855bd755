"""EFA device plugin."""
