"""Queues and flavors through which no pod can go."""
