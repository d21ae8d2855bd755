"""MPIJobs."""
