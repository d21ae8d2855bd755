"""Rules for queues: quota and capacity, lending, preemption, and node pools that must not be in the same queue."""
