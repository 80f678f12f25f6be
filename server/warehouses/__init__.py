"""Warehouses: facts in a SQL engine, which keeps the rows of partitions and answers questions about them."""
