"""Models and sources of a topic's tables, written from its schemas."""
