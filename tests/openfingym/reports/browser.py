"""A real browser."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def opened(page: str, file: Path, *flags: str, address: str = "") -> str:
    """The document that a browser makes of a page.

    Args:
        page: its text.
        file: where it is written; a profile is made beside it.
        flags: more of the browser's.
        address: what follows the file's in the page's address.
    """
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        if os.environ.get("OPENFINGYM_REQUIRE_DOCKER"):
            pytest.fail("CI needs a browser: install the package chromium")
        pytest.skip("no Chromium on this machine (Debian and Ubuntu: apt install chromium)")
    file.write_text(page, encoding="utf-8")
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    profile = f"--user-data-dir={file.parent / 'profile'}"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", *quiet, profile, *flags, "--dump-dom"]
    return subprocess.run(
        [*command, f"file://{file}{address}"], capture_output=True, text=True, timeout=120, check=True
    ).stdout
