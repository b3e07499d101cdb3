"""The public surface: names, laziness, and the promise that importing does nothing."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import openfingym
from openfingym.packages.package import BuiltPackage
from tests.tenants import TENANTS


def run_python(program: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=os.environ | environment
    ).stdout.strip()


def test_all_is_sorted_and_every_name_resolves() -> None:
    assert openfingym.__all__ == sorted(openfingym.__all__)
    for name in openfingym.__all__:
        assert getattr(openfingym, name) is not None
    assert set(openfingym._HOMES) == set(openfingym.__all__) - {"__version__"}


@pytest.mark.parametrize(
    "package",
    [
        ".".join(path.parent.relative_to(Path(openfingym.__file__).parents[1]).parts)
        for path in sorted(Path(openfingym.__file__).parent.rglob("__init__.py"))
        if "names_of(__name__" in path.read_text("utf-8")
    ],
)
def test_every_name_that_a_package_loads_when_it_is_used_is_there(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        openfingym.no_such_thing  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    heavy = ["numpy", "pandas", "sklearn", "gymnasium", "pydantic", "fastapi", "docker", "httpx", "jinja2", "rich"]
    program = f"import sys, openfingym; print([name for name in {heavy!r} if name in sys.modules])"
    assert run_python(program) == "[]"


def test_help_loads_nothing_heavy() -> None:
    heavy = ["numpy", "pandas", "sklearn", "gymnasium", "pydantic", "fastapi", "docker", "httpx", "jinja2", "rich"]
    program = (
        "import sys; sys.argv = ['openfingym', '--help']\n"
        "from openfingym.cli import main\n"
        "try: main()\n"
        f"except SystemExit: print([name for name in {heavy!r} if name in sys.modules])"
    )
    assert run_python(program).splitlines()[-1] == "[]"


def test_gymnasium_knows_the_tasks_if_it_was_there_first() -> None:
    assert (
        run_python("import gymnasium, openfingym; print('openfingym/treasury-forecast-v0' in gymnasium.registry)")
        == "True"
    )
    assert run_python("import sys, openfingym; print('gymnasium' in sys.modules, len(sys.meta_path))") == run_python(
        "import sys; print('gymnasium' in sys.modules, len(sys.meta_path))"
    )


@pytest.mark.parametrize(
    "imports", ["import gymnasium", "import openfingym, gymnasium", "import gymnasium, openfingym.envs"]
)
def test_gymnasium_finds_a_task_by_the_module_that_knows_it(
    imports: str, treasury: BuiltPackage, store_home: Path
) -> None:
    program = f"{imports}; print(gymnasium.make('openfingym.envs:openfingym/treasury-forecast-v0').spec.id)"
    assert run_python(program, OPENFINGYM_HOME=str(store_home)) == "openfingym/treasury-forecast-v0"


def test_gymnasium_imports_openfingym_by_its_name(treasury: BuiltPackage, store_home: Path) -> None:
    program = (
        "import gymnasium; print(gymnasium.make('openfingym:openfingym/treasury-forecast-v0').spec.kwargs['task'])"
    )
    assert run_python(program, OPENFINGYM_HOME=str(store_home)) == "treasury-forecast"


def test_the_library_imports_none_of_the_others() -> None:
    """Every module of the library, imported alone, must not pull in the verifier, the runtime or a tenant."""
    assert others_imported("openfingym") == "[]"


@pytest.mark.parametrize("tenant", TENANTS)
def test_a_tenant_imports_the_library_alone(tenant: str) -> None:
    assert others_imported(tenant) == "[]"


def others_imported(package: str) -> str:
    """The modules of other packages than the library that all modules of a package import, as a list is printed."""
    others = {"openfingym_verifier", "openfingym_runtime", *TENANTS} - {package}
    return run_python(
        f"import importlib, pkgutil, sys, {package}\n"
        f"for module in pkgutil.walk_packages({package}.__path__, '{package}.'):\n"
        "    if '.agents.programs' not in module.name and '.templates' not in module.name: "
        "importlib.import_module(module.name)\n"
        f"print(sorted(name for name in sys.modules if name.split('.')[0] in {others!r}))"
    )
