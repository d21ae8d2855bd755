"""Queues and flavors that admit no pod."""
