"""Rules for nodes: AMIs, root volumes, drivers, container toolkits and device plugins."""
