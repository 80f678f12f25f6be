"""Which days a period code means, for the fiscal year of an instance."""
