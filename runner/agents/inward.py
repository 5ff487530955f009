"""Redirects that lead a request from the internet into this machine or its network."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address

import httpx


async def leads_inward(here: httpx.URL, there: httpx.URL) -> bool:
    """Say whether a server out there sends us to one in here, such as a cloud's metadata."""
    return await _is_inside(there.host) and not await _is_inside(here.host)


async def _is_inside(host: str) -> bool:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:  # unknown here; a proxy may know it, and then it is not in here
        return False
    return any(not ip_address(str(each[4][0]).partition("%")[0]).is_global for each in found)
