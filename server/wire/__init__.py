"""The wire: JSON arguments to requests and answers to JSON; raw JSON ends here."""
