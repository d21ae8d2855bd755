"""MPIJob."""
