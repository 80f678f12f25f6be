"""Skills: the instructions of the prompts as files that hosts list, verify and load (SEP-2640 of the protocol).

A skill is a folder: SKILL.md with frontmatter, and the names of these books. Both are made of what the caller sees in
the catalogue, so the same books and profiles have the same digests in every process. No member is named.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.json import encode

from engine.books.reader import Reader
from server.tools.prompts import PROMPTS, Prompt, default_statement, metrics, scenarios, statements

SCHEME = "skill://"
ROOT = f"{SCHEME}tieout"
NAMES = "references/names.md"
MAX_NAMED = 100  # names of a kind, so that no file has more than 500 lines
KINDS: Mapping[str, tuple[str, str]] = {  # of names: their heading, and the tool that lists them all
    "statement": ("Statements", "svc_orientation"),
    "metric": ("Metrics", "list_kpis"),
    "scenario": ("Scenarios", "list_scenarios"),
    "dimension": ("Dimensions", "list_dimensions"),
}


class Skill(Struct, frozen=True, kw_only=True):
    """One skill: what hosts list it as, and the text of each of its files by address."""

    name: str
    title: str
    description: str
    files: Mapping[str, str]

    @property
    def uri(self) -> str:
        """The address of its SKILL.md."""
        return f"{ROOT}/{self.name}/SKILL.md"


def skills_of(reader: Reader) -> Iterator[Skill]:
    """Yield the skills that a caller can follow: those whose statement or metric there is one to choose of."""
    names = names_of(reader)
    for prompt in PROMPTS.values():
        if reader.scenarios and all(names[kind] for kind in ("statement", "metric") if kind in prompt.arguments):
            yield skill_of(prompt, reader, names)


def names_of(reader: Reader) -> Mapping[str, Mapping[str, str]]:
    """Return the names of each kind that a caller sees, with their labels."""
    dimensions = {key: dimension.label for key, dimension in reader.dimensions.items()}
    named = (statements(reader), metrics(reader), scenarios(reader), dimensions)
    return dict(zip(KINDS, named, strict=True))


def skill_of(prompt: Prompt, reader: Reader, names: Mapping[str, Mapping[str, str]]) -> Skill:
    """Return the skill of a prompt."""
    name, description = prompt.name.replace("_", "-"), f"{prompt.description} {prompt.asked_when}"
    folder = f"{ROOT}/{name}"
    files = {
        f"{folder}/SKILL.md": instruction(name, description, prompt, reader),
        f"{folder}/{NAMES}": names_page(names, default_statement(reader)),
    }
    return Skill(name=name, title=prompt.title, description=description, files=files)


def instruction(name: str, description: str, prompt: Prompt, reader: Reader) -> str:
    """Return the SKILL.md of a prompt: what a user chooses stands in capitals."""
    open_ones = {key: key.upper() for key, argument in prompt.arguments.items() if argument.required}
    choices = "\n".join(f"- {key}: {argument.description}" for key, argument in prompt.arguments.items())
    return f"""---
name: {name}
description: {encode(description).decode()}
---

# {prompt.title}

{prompt.text(open_ones, reader)}

## What the user may choose

{choices}

Every name of these books stands in [{NAMES}]({NAMES}). search_hierarchy finds members.
"""


def names_page(names: Mapping[str, Mapping[str, str]], default: str) -> str:
    """Return the page of names: the key of each with its label, of long lists the first."""
    return "# Names\n" + "".join(names_section(kind, known, default) for kind, known in names.items())


def names_section(kind: str, names: Mapping[str, str], default: str) -> str:
    """Return the section of one kind of names."""
    heading, listed_by = KINDS[kind]
    lines = [
        f"- `{key}`: {' '.join(label.split())}{' (the default)' if (kind, key) == ('statement', default) else ''}"
        for key, label in list(names.items())[:MAX_NAMED]
    ]
    more = [f"- and {len(names) - MAX_NAMED:,} more: {listed_by} lists them"] if len(names) > MAX_NAMED else []
    return "\n".join(("", f"## {heading}", "", *(lines or ["None."]), *more, ""))


def entry_of(skill: Skill) -> Mapping[str, Any]:
    """Return a skill as the protocol lists it: its frontmatter, and the digest and size of each file."""
    return {
        "uri": skill.uri,
        "frontmatter": {"name": skill.name, "description": skill.description},
        "resources": [
            {"uri": uri, "digest": f"sha256:{sha256(text.encode()).hexdigest()}", "size": len(text.encode())}
            for uri, text in skill.files.items()
        ],
    }
