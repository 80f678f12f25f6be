"""Notes: what is remarked on the figures of a plan: their days, blanks, weights, currencies, sums and operands."""
