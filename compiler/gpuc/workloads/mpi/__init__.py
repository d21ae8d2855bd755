"""The kind MPIJob of the MPI Operator."""
