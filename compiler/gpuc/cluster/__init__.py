"""Classes for the pools, queues, Applications and namespaces of a cluster. gpuc reads them from objects or a spec."""
