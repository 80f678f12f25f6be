"""The cases that are not right yet, each with the reason. One that turns right fails its test until its line goes."""

NO_CALL = "no key of an instance and no call asks for this"

DIFFERENTIAL: dict[str, str] = {}
REPORTS: dict[str, str] = {
    "balance_side": NO_CALL,
    "coarse_budget": "a domain has one grain of time for all its scenarios",
}
FILES: dict[str, str] = {}
