"""The engine: books, permissions and questions in, exact figures out; no network, clock, environment or async."""
