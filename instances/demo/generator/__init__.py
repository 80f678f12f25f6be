"""The generator of the demo's books: a made-up group, the same for a seed, at any size."""
