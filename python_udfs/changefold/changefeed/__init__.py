"""TiCDC's filter rules, applied downstream."""
