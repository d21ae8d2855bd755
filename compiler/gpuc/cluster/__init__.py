"""Classes for pools, queues, Applications and namespaces of a cluster, read from objects or from the spec."""
