"""Addresses on the network: what a name leads to, and which of it is public."""

import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str], Sequence[Address]]
ASKED_AT_ONCE = 4

# What is not public of all there is: the special purposes of the IANA registries, and multicast. Of IPv6 only 2000::/3
# is given out; what maps or carries IPv4 addresses (::ffff:0:0/96, 64:ff9b::/96) lies outside, but for 6to4 and Teredo.
NOT_PUBLIC: tuple[Network, ...] = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/3", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
        *("4000::/2", "8000::/1"),
    )
)


def is_in(address: Address, networks: Sequence[Network]) -> bool:
    """Tell whether an address is in one of some networks."""
    return any(address in network for network in networks)


def system_addresses(name: str) -> Sequence[Address]:
    """Return the addresses that the system knows of a name; OSError where it knows none."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(entry[4][0]) for entry in found))


class Names:
    """Asks for the addresses of names, no longer than it is given: the system itself may take its time."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._asking = ThreadPoolExecutor(ASKED_AT_ONCE, "names of hosts")

    def addresses(self, name: str, seconds: float) -> Sequence[Address]:
        """Return the addresses of a name; OSError where there are none, TimeoutError among them."""
        asked = self._asking.submit(self._resolve, name)
        try:
            return asked.result(seconds)
        finally:
            asked.cancel()
