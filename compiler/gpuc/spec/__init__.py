"""What may be written: the spec language, typed. `parse` turns a source into a ClusterSpec."""
