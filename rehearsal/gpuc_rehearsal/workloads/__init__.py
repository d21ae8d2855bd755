"""A module for each family of workloads (the kinds of one project) whose objects need special code in a rehearsal."""
