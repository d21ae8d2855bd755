"""Checks of the network and of the permissions of tenants."""
