"""The typed models of the spec language. `parse` turns a Source into a ClusterSpec."""
