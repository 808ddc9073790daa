"""Types and values of Kafka Connect."""
