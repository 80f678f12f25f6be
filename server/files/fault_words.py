"""Fault words: what databases and Polars say of a connection or a statement, in words of our own."""

import re
from collections.abc import Sequence
from typing import Final

FaultWords = Sequence[tuple[re.Pattern[str], str]]  # a message, and what to say of it; {0} is the name that it holds

NAME: Final = r"[\"'`]?([^\"'`\s,;!]+)[\"'`]?"
READS_ONLY: Final = (
    "it would write, or reach another file: this source is read-only, and its queries reach no other file"
)


def fault_words(*rows: tuple[str, str]) -> FaultWords:
    """Return parts of messages with what to say of each; the first that fits counts."""
    return [(re.compile(message, re.IGNORECASE), words) for message, words in rows]


REACHING: Final = fault_words(
    (r"password|authentication|incorrect username|access denied|pg_hba", "it refuses the user or the password"),
    (r"token|credential|unauthenticated|permission", "it refuses the credentials"),
    (r"role \"", "it does not know the user"),
    (r"database \"", "it has no such database"),
    (r"too many|connection slots", "it has no connection left; load again later"),
    (r"starting up|recovery|shutting down", "it is starting or stopping; load again later"),
    (r"refused|no such file|unavailable", "nothing listens at its address; see that it runs"),
    (r"socket path", "the path of its socket has more than the 107 bytes of a system; name a shorter one"),
    (r"no such host|resolve|translate host|name or service", "its host name is not known"),
    (r"timeout|timed out|deadline", "it does not answer; see that it runs and that its address is right"),
    (r"ssl|tls|certificate", "no secure connection can be made; see its certificate and its address"),
    (r"bad value|invalid integer|invalid uri|missing \"=\"|parse", "its URI or its options are not as it takes them"),
    (r"lock", "another program holds its file; load again when it is closed"),
    (r"not a database|not a valid duckdb|encrypted|malformed", "its file is damaged, or is no database of this kind"),
    (r"unable to open|cannot open", "its file cannot be opened; see that this user may read it"),
)
UNREACHED: Final = "see that it runs, that its address is right and that it lets its user in"
REFUSALS: Final = fault_words(
    (r"read[- _]?only|not authorized|authorization denied|disabled|cannot execute \w+ in a", READS_ONLY),
    (rf"permission denied for (?:\w+ )?{NAME}", "its user may not read {0}; grant it select there"),
    (r"only one\)? statement|one statement at a time|multiple (?:commands|statements)", "it has several; write one"),
    (r"(?:fetch|such|invalid) token|credential|unauthenticated", "it refuses the credentials"),
    (rf"no such table: {NAME}|relation {NAME} (?:does not exist|was not found)", "there is no table {0}"),
    (rf"table with name {NAME} does not exist", "there is no table {0}"),
    (rf"no table or struct column named {NAME}|table or view {NAME} cannot be found", "there is no table {0}"),
    (rf"no such column: {NAME}|unable to find column {NAME}|no column named {NAME}", "there is no column {0}"),
    (rf"column {NAME} (?:does not exist|not found)", "there is no column {0}"),
    (rf"no such function: {NAME}|function(?: with name)? {NAME} does not exist", "there is no function {0}"),
    (rf"unsupported function {NAME}", "there is no function {0}"),
    (r"function (\w+)\(.*does not exist", "there is no function {0} of such values; cast what it takes"),
    (rf"ambiguous (?:column name:|reference to column name) {NAME}", "two tables have a column {0}; name its table"),
    (rf"column reference {NAME} is ambiguous", "two tables have a column {0}; name its table"),
    (rf"duplicate output name {NAME}|column with name {NAME} has more", "two columns are called {0}; name one with as"),
    (rf"column {NAME} must appear in the group by|^{NAME} should participate", "{0} needs group by, or a sum"),
    (r"incomplete input|eof|end of input|unterminated|unrecognized token", "it ends too early, or a quote is open"),
    (rf"near {NAME}(?::| |$)|found: {NAME}", "it is no SQL that is read here, near {0}"),
    (r"syntax|parser error", "it is no SQL that is read here"),
    (rf"conversion from .* failed in column {NAME}", "a text of column {0} is no such number or day"),
    (r"could not convert|invalid input syntax|datetime field|date field", "it makes a number or a day of another text"),
    (r"conversion|convert|cast|to parse dates|dtype|data ?type|type mismatch", "it mixes texts and numbers; cast them"),
    (r"operator does not exist|no function matches|cannot check for", "it mixes texts and numbers; cast them"),
    (r"division by zero", "it divides by zero; divide by nullif(…, 0)"),
    (r"overflow|out of range", "a number is too large for its type; cast it to a larger one"),
    (r"(?:equal|same) number of (?:result )?columns", "the parts of its union have not the same columns"),
    (r"schema lengths|schema names|extra columns|column names don't match", "the files of a table differ in columns"),
    (r"type of parameter", "a parameter has no type; write cast(:name as date)"),
    (r"join", "it joins tables without on or using, or in a way that is not read here"),
    (r"timeout|too long|deadline", "it took longer than the database allows; ask for fewer periods at once"),
    (r"connection|broken pipe|unavailable", "the connection was lost; load again"),
    (r"lock", "another program holds what it reads; load again later"),
    (rf"decode to utf-?8 column {NAME}", "column {0} holds a text that is not UTF-8; mend it, or leave the column out"),
    (r"utf-?8", "a text in it is not UTF-8; mend it, or say csv: {{encoding: …}}"),
    (r"disk image is malformed|corrupt|not a database", "the file of the database is damaged"),
    (r"full|no space", "the database has no space left"),
)  # fmt: skip
UNREFUSED: Final = "run it in a client of the database, as the user of this source, to see why"


def in_words(fault: Exception, known: FaultWords, otherwise: str) -> str:
    """Return what to say of a fault by the first line of its message, or otherwise, with its SQLSTATE if it has one."""
    said = str(fault).strip().split("\n", 1)[0]
    for message, words in known:
        if found := message.search(said):
            return words.format(next((f"'{name}'" for name in found.groups() if name), "…"))
    state = str(getattr(fault, "sqlstate", None) or "").strip("\0")
    return f"{otherwise} (SQLSTATE {state})" if state else otherwise
