"""The manifest: which files hold which facts at one version, and where."""
