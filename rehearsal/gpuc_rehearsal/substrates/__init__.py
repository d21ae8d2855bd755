"""What a rehearsal knows about substrates, by the folder of the substrate."""
