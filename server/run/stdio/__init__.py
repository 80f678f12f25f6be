"""tieout stdio: the bridge between a desktop host and the server of an instance."""
