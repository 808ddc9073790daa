"""The strict reader of JSON, and the form of its errors."""
