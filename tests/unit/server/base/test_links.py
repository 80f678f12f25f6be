"""Transfer links: signed over all that they say, so that nothing of one can be changed."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from server.base.links import PATH, BadLink, LinkExpired, LinkPurpose, LinkSigner, owner_mark

LINKS = LinkSigner("https://reports.example.com", "0123456789abcdef" * 4)
FILE, OWNER, ENDS = "a1b2c3", "ann", 2_000_000_000
BEFORE = ENDS - 1


def parts(url: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the file and the query of a link."""
    split = urlsplit(url)
    return split.path.removeprefix(PATH), parse_qsl(split.query)


@pytest.fixture
def made() -> list[tuple[str, str]]:
    """The query of a good link."""
    return parts(LINKS.make(LinkPurpose.GET, FILE, OWNER, ENDS))[1]


def test_a_link_says_whose_file_it_opens_until_its_end(made: list[tuple[str, str]]) -> None:
    url = LINKS.make(LinkPurpose.GET, FILE, OWNER, ENDS)
    assert url.startswith("https://reports.example.com/api/artifacts/a1b2c3?")
    assert OWNER not in url
    assert LINKS.read(LinkPurpose.GET, FILE, made, BEFORE) == owner_mark(OWNER)
    assert LINKS.read(LinkPurpose.GET, FILE, made[::-1], BEFORE) == owner_mark(OWNER)
    with pytest.raises(LinkExpired):
        LINKS.read(LinkPurpose.GET, FILE, made, ENDS)


@pytest.mark.parametrize(
    "changed",
    [
        {"owner": owner_mark("bob")},
        {"ends": str(ENDS + 1)},
        {"ends": f"0{ENDS}"},
        {"ends": f"+{ENDS}"},
        {"ends": f"{ENDS} "},
        {"ends": "٢٠٠٠٠٠٠٠٠٠"},
        {"ends": "9" * 5000},
        {"ends": ""},
        {"signature": ""},
        {"signature": "0" * 64},
        {"signature": "é" * 64},
        {"owner": f"{owner_mark(OWNER)}\n{ENDS}"},
    ],
)
def test_a_link_of_which_anything_was_changed_opens_nothing(
    made: list[tuple[str, str]], changed: dict[str, str]
) -> None:
    with pytest.raises(BadLink):
        LINKS.read(LinkPurpose.GET, FILE, list((dict(made) | changed).items()), BEFORE)


def test_every_character_of_a_signature_counts(made: list[tuple[str, str]]) -> None:
    query = dict(made)
    for at, digit in enumerate(query["signature"]):
        other = "0" if digit != "0" else "1"
        tampered = query["signature"][:at] + other + query["signature"][at + 1 :]
        with pytest.raises(BadLink):
            LINKS.read(LinkPurpose.GET, FILE, [*(query | {"signature": tampered}).items()], BEFORE)
    with pytest.raises(BadLink):
        LINKS.read(LinkPurpose.GET, FILE, [*(query | {"signature": query["signature"].upper()}).items()], BEFORE)


@pytest.mark.parametrize("file_id", ["a1b2c4", "../a1b2c3", "a1b2c3/", "A1B2C3", "", "a1b2c3\0", "a1b2c3\n", "%61"])
def test_a_link_opens_no_other_file(made: list[tuple[str, str]], file_id: str) -> None:
    with pytest.raises(BadLink):
        LINKS.read(LinkPurpose.GET, file_id, made, BEFORE)


def test_a_link_to_read_is_none_to_write_and_another_deployments_is_none(made: list[tuple[str, str]]) -> None:
    with pytest.raises(BadLink):
        LINKS.read(LinkPurpose.PUT, FILE, made, BEFORE)
    with pytest.raises(BadLink):
        LinkSigner(LINKS.base_url, "f" * 64).read(LinkPurpose.GET, FILE, made, BEFORE)


def test_a_query_that_says_more_or_less_or_anything_twice_is_no_link(made: list[tuple[str, str]]) -> None:
    for query in (made[1:], [*made, ("more", "x")], [*made, made[0]], [*made, ("ends", str(ENDS))], []):
        with pytest.raises(BadLink):
            LINKS.read(LinkPurpose.GET, FILE, query, BEFORE)
