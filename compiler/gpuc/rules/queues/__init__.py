"""Queues: quota and capacity, lending, preemption, and pools that do not fit into one queue."""
