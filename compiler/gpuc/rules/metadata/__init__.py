"""Rules for the labels and annotations of objects."""
