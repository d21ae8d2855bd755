"""The substrate `on_premises`: clusters of nodes that exist already, without a cloud and without an autoscaler."""
