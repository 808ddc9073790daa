"""Versions of tables, from DDLs, descriptions and rows."""
