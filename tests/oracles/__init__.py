"""Real books through a real client, against figures computed elsewhere."""
