"""The public surface: names, laziness, and the promise that importing does nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import openfingym


def run_python(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def test_all_is_sorted_and_every_name_resolves() -> None:
    assert openfingym.__all__ == sorted(openfingym.__all__)
    for name in openfingym.__all__:
        assert getattr(openfingym, name) is not None
    assert set(openfingym._HOMES) == set(openfingym.__all__) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        openfingym.no_such_thing  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    heavy = ["numpy", "pandas", "sklearn", "gymnasium", "pydantic", "fastapi", "docker", "httpx", "aiohttp", "rich"]
    program = f"import sys, openfingym; print([name for name in {heavy!r} if name in sys.modules])"
    assert run_python(program) == "[]"


def test_help_loads_nothing_heavy() -> None:
    heavy = ["numpy", "pandas", "sklearn", "gymnasium", "pydantic", "fastapi", "docker", "httpx", "aiohttp", "rich"]
    program = (
        "import sys; sys.argv = ['openfingym', '--help']\n"
        "from openfingym.cli import main\n"
        "try: main()\n"
        f"except SystemExit: print([name for name in {heavy!r} if name in sys.modules])"
    )
    assert run_python(program).splitlines()[-1] == "[]"


@pytest.mark.parametrize("order", ["import gymnasium, openfingym", "import openfingym, gymnasium"])
def test_gymnasium_finds_the_tasks_whatever_is_imported_first(order: str) -> None:
    assert run_python(f"{order}; print('openfingym/treasury-forecast-v0' in gymnasium.registry)") == "True"


def test_the_library_imports_neither_of_the_others() -> None:
    """Every module of the library, imported alone, must not pull in the verifier or the runtime."""
    program = (
        "import importlib, pkgutil, sys, openfingym\n"
        "for module in pkgutil.walk_packages(openfingym.__path__, 'openfingym.'):\n"
        "    if '.agents.programs' not in module.name and '.package_files' not in module.name: importlib.import_module(module.name)\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in {'openfingym_verifier', 'openfingym_runtime'}))"
    )
    assert run_python(program) == "[]"
