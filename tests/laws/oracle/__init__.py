"""An oracle of the figures: books as plain values, figures as exact fractions, row by row, by the rules."""
