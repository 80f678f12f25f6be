"""The door for Python users: open a folder of books and ask it for statements and metrics."""
