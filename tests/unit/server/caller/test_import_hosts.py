"""Hosts that attachments may come from: the setting that lists them, and addresses that are never connected to."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.base.links import Host, parse_hosts
from server.base.settings import BadSetting, read_settings
from server.caller.importer import NOT_PUBLIC, Address, is_in


@pytest.mark.parametrize(
    ("variable", "value", "takes"),
    [
        ("SVC_MCP_UPLOADS_ENABLED", "yes", "true or false"),
        *(
            ("SVC_FILE_IMPORT_HOSTS", value, "host names")
            for value in (
                "https://a.test",
                "*.a.test",
                "10.0.0.1",
                "a.test/x",
                "a.test:0",
                "[::1]",
                "a b",
                "a_b.test",
                "x@a.test",
            )
        ),
    ],
)
def test_a_setting_that_does_not_hold_is_refused(variable: str, value: str, takes: str) -> None:
    with pytest.raises(BadSetting, match=f"{variable}.*it takes {takes}"):
        read_settings({variable: value})


def test_hosts_are_read_as_the_network_has_them() -> None:
    read = read_settings(
        {"SVC_FILE_IMPORT_HOSTS": " Files.Example.COM ,bücher.example:8443,", "SVC_MCP_UPLOADS_ENABLED": "True"}
    )
    assert read.uploads_enabled is True
    assert parse_hosts(read.import_hosts) == (Host("files.example.com"), Host("xn--bcher-kva.example", 8443))


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_what_is_public_the_standard_library_calls_global_too(address: Address) -> None:
    if not is_in(address, NOT_PUBLIC):
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_reserved


@pytest.mark.parametrize(
    "address",
    [
        *("10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "127.255.255.255", "0.0.0.0"),  # noqa: S104 - refused
        *("169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.192", "198.18.0.1", "224.0.0.1"),
        *("255.255.255.255", "240.0.0.1", "::", "::1", "::ffff:10.0.0.1", "::10.0.0.1", "64:ff9b::a00:1"),
        *("64:ff9b:1::a00:1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "2002:a00:1::1"),
        *("2001::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1"),
    ],
)
def test_special_addresses_are_not_public(address: str) -> None:
    assert is_in(ip_address(address), NOT_PUBLIC)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1"])
def test_ordinary_addresses_are_public(address: str) -> None:
    assert not is_in(ip_address(address), NOT_PUBLIC)
