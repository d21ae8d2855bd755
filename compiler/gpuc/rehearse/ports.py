"""Free TCP ports of the loopback address."""

from __future__ import annotations

import socket
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Returns different free ports. All ports are bound at the same time, so no port is returned twice."""
    with ExitStack() as bound:
        listeners = [bound.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind((LOOPBACK, 0))
        return [int(listener.getsockname()[1]) for listener in listeners]
