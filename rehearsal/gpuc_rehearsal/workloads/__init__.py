"""What a rehearsal knows about kinds of workloads, by the folder of the family."""
