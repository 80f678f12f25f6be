"""Every key of the published schemas in an instance that is served, with an answer that differs without it."""
