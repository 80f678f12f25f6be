"""Tables: a report as formatted text for people."""
