"""A differential: instances drawn at random, asked of the product and of an oracle that reads their files itself.

The oracle (calendars, books, figures, formulas, rankings) is slow and plain and imports nothing of engine/ and server/.
`python -m tests.differential SECONDS [SEED]` prints the cells that were compared and every difference by its name.
"""
