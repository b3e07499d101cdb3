"""The tenants: packages beside the library, which finds them by entry points as it finds anybody's, and names none."""

from __future__ import annotations

TENANTS = ("openfingym_forge", "openfingym_suites")
