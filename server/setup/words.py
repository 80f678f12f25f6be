"""Words: what the names of columns, files and scenarios say, and the keys and headings that are made of them."""

import re
import unicodedata
from typing import Final

from server.files.notation import words_of


def named(words: str) -> re.Pattern[str]:
    """Return a pattern of whole words in the name of a column."""
    return re.compile(rf"(^|[^a-zà-ÿ])({words})($|[^a-zà-ÿ])", re.IGNORECASE)


ID_ENDINGS: Final = frozenset(["key", "id", "code", "no", "nr"])
NOISE: Final = ID_ENDINGS | {  # words of a name that do not say what it is about
    "number", "num", "nummer", "dim", "fact", "table", "the", "csv", "xlsx", "alternate", "group",
}  # fmt: skip
SCENARIO_KINDS: Final = {  # words in the names of scenarios, files and sheets
    "actual": named("actuals?|ist|réel|reel|real|werkelijk|consuntivo"),
    "budget": named("budget|plan|bud|presupuesto|begroting"),
    "forecast": named("forecast|fcst|fc|prognose|hochrechnung|outlook|prévision"),
}
DEBIT_WORDS: Final = named("debit|debits|dr|soll|sollbetrag|débit|debe|dare|debet|débito|debito|winien|wn")
CREDIT_WORDS: Final = named("credit|credits|cr|haben|habenbetrag|crédit|haber|avere|crédito|credito|kredit|ma|kt")
SYMBOLS: Final = {"€": "EUR", "£": "GBP", "US$": "USD"} | {code: code for code in ("CHF", "EUR", "USD", "GBP", "JPY")}
SPELT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def slug(text: str) -> str:
    """Return a text as a key: lower-case letters, digits and _."""
    spelt = text.lower().translate(SPELT)
    plain = unicodedata.normalize("NFKD", spelt).encode("ascii", "ignore").decode()
    key = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    return key if key[:1].isalpha() else f"c_{key}" if key else "column"


def title(name: str) -> str:
    """Return the name of a column or file as a heading: AccountKey and account_key read Account."""
    words = [word for word in re.split(r"[\s_]+", words_of(name)) if word]
    kept = words[:-1] if len(words) > 1 and words[-1].lower() in ID_ENDINGS else words
    text = " ".join(kept)
    return text[:1].upper() + text[1:] if text.islower() or "_" in name else text


def stem(name: str) -> str:
    """Return what a column or table is about: its words without those of ids and of tables."""
    words = re.findall(r"[^\W_]+", words_of(name).lower())
    kept = [word.removesuffix("s") for word in words if word not in NOISE]
    return " ".join(kept) or " ".join(words)


def scenario_kinds(text: str) -> list[str]:
    """Return the kinds of scenarios that a text names."""
    return [kind for kind, pattern in SCENARIO_KINDS.items() if pattern.search(text.replace("_", " "))]


def scenario_kind(text: str) -> str | None:
    """Return the first kind of scenario that a text names; None if it names none."""
    return next(iter(scenario_kinds(text)), None)


def without_scenario(name: str) -> tuple[str | None, str]:
    """Return the only kind of scenario that a name says, and the name without its word; None if it says no one."""
    kinds = scenario_kinds(name)
    if len(kinds) != 1:
        return None, name
    rest = SCENARIO_KINDS[kinds[0]].sub(r"\1 \3", name.replace("_", " "))
    return kinds[0], " ".join(rest.split()).strip(" -/.()[]:,")


def currencies_in(text: str) -> set[str]:
    """Return the codes of the currencies that a text names."""
    return {code for mark, code in SYMBOLS.items() if re.search(rf"(?<![A-Z]){re.escape(mark)}(?![A-Z])", text)}


def named_currency(column: str) -> str | None:
    """Return the currency that the name of a column of amounts says; None if it names none, or several."""
    codes = currencies_in(column)
    return codes.pop() if len(codes) == 1 else None
