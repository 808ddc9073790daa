"""A module a protocol: bytes of a Kafka record in, one message out."""
