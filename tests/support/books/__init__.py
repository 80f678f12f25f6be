"""Small books of tests, and what loads them."""
