"""The models of the spec language. `parse` converts a Source into a ClusterSpec."""
