"""Tools around the project that no model needs: compare built tables with a truth."""
