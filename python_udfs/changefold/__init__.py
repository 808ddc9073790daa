"""Decode change streams and fold their schema history, one value at a time."""
