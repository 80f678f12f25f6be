"""Plans: from a query to the sums it needs and the figures made of them."""
