"""``openfingym mcp``."""
