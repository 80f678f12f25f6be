"""The demo's books, made up from a seed at any size: python instances/demo/generate.py --rows 150000 --seed 1."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from generator.books import TooSmall, write_books

DATA = Path(__file__).parent / "data"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write every table of the demo."""
    parser = argparse.ArgumentParser(description="Generate the books of the demo instance.")
    parser.add_argument("--rows", type=int, default=150_000, help="rows of the general ledger (default: 150000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other books (default: 1)")
    parser.add_argument("--into", type=Path, default=DATA, help="folder to write to (default: data beside this file)")
    asked = parser.parse_args(arguments)
    try:
        written = write_books(asked.rows, asked.seed, asked.into)
    except TooSmall as fault:
        parser.error(f"--rows {fault}")
    print(f"{asked.into}: {written.ledger:,} rows of general ledger, {written.sales:,} of sales")


if __name__ == "__main__":
    main()
