"""The law of digits: what a source holds is what the books hold, or the row is rejected by name."""
