"""Operations: readiness, health and metrics for who runs the service, on a listener of their own."""
