"""The nine charts: a table and its spec become a picture as plain data."""
