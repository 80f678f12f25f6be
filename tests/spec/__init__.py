"""The sentences of the specification and the worked finance cases, each under its number."""
