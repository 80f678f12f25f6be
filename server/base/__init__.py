"""What every room of the server stands on: settings, interfaces, links, credentials, signals."""
