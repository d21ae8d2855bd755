"""Queues: quota against capacity, lending, preemption and what queues mix."""
