"""Types, values and statements of MySQL and TiDB."""
