"""Values of the pinned Helm charts."""
