"""The stack for many users: compose.yaml and what it is made of."""
