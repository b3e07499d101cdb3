"""What is in the wheel and the sdist, and that the wheel works where there is no checkout."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    for target in ("wheel", "sdist"):
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
    return out


def test_the_wheel_holds_the_packages_and_the_tasks(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "openfingym",
        "openfingym_forge",
        "openfingym_runtime",
        "openfingym_suites",
        "openfingym_v1",
        "openfingym_verifier",
    }
    for name in (
        "openfingym/py.typed",
        "openfingym/_packages/treasury-forecast/task.toml",
        "openfingym/_packages/treasury-forecast/instruction.md",
        "openfingym/_rounds/findeepforecast.toml",
        "openfingym/_rounds/weekly.toml",
        "openfingym_forge/_bench/corpus/treasury-curve.pdf",
        "openfingym_forge/_bench/key/KEY.toml",
        "openfingym_forge/_bench/served/dry-bulk.csv",
        "openfingym/_rounds/weekly-real.toml",
        "openfingym/packages/templates/test.sh",
        "openfingym/data/series/ust-par-yields.csv.gz",
        "openfingym/vault/files/vault.toml",
        "openfingym/vault/files/company_facts.csv.xz",
        "openfingym/vault/files/gdp_vintages.LICENSE-MIT.txt",
        "openfingym_runtime/_image/Dockerfile.agent",
        "openfingym_suites/findeepforecast/generation/prompts/question.txt",
        "openfingym_suites/mirai/data/flagged-words.txt",
        "openfingym_suites/py.typed",
        "openfingym_suites/seasons/seasons.css",
        "openfingym_runtime/_image/runtime/agent/openfingym_agent/__init__.py",
    ):
        assert name in names
    packages = ("openfingym", "openfingym_forge", "openfingym_suites")
    filled = [path for package in packages for path in (ROOT / package).rglob("*.jinja")]
    templates = {path.relative_to(ROOT).as_posix() for path in [*filled, *(ROOT / "openfingym_forge").rglob("*.md")]}
    assert len(templates) >= 6
    assert templates <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    assert wheel.stat().st_size < 8_300_000, "the bundled vault takes half of it"


def test_the_sdist_holds_only_the_project(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tops = {name.split("/")[0] for name in names}
    assert tops <= {
        "openfingym",
        "openfingym_forge",
        "openfingym_suites",
        "openfingym_v1",
        "verifier",
        "runtime",
        "tasks",
        "rounds",
        "examples",
        "tests",
        "benchmarks",
        "docs",
        "scripts",
        "Dockerfile.agent",
        "Dockerfile.verifier",
        "Makefile",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "API.md",
        "README.md",
        "pyproject.toml",
        "PKG-INFO",
        ".gitignore",
    }
    assert {"tests/test_packaging.py", "examples/cluster/Dockerfile", "examples/cluster/shard.sh"} <= names


def test_the_wheel_works_without_a_checkout(built: Path, tmp_path: Path) -> None:
    """Installed into an environment of its own, beside the dependencies of this one, far from the checkout."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    # By this environment's pip: one of its own takes longer to install than all that is tested.
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-compile", str(wheel)], check=True, capture_output=True)
    here = [path for path in sys.path if path.endswith("site-packages")]
    site = next((tmp_path / "env" / "lib").glob("python3.*/site-packages"))
    # Only this environment's installed distributions are shared, not its editable openfingym.
    (site / "shared.pth").write_text("\n".join(here) + "\n")
    program = (
        "import openfingym, openfingym.packages.build as b, openfingym.catalog as c\n"
        f"assert openfingym.__file__.startswith({str(site)!r}), openfingym.__file__\n"
        "package = b.build(c.load_task('treasury-forecast'))\n"
        "print(len(openfingym.tasks()), package.read_truth()['targets'].shape)\n"
        "from openfingym_runtime.docker.images import build_context\n"
    )
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    count, _, shape = done.stdout.strip().partition(" ")
    assert int(count) >= 5
    assert shape == "(193, 5, 6)"
    options = ["--tasks", "treasury-forecast", "--agent", "naive", "--backend", "inline", "--out", "run", "--json"]
    command = [python.with_name("openfingym"), "rollout", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    (group,) = json.loads(done.stdout)["groups"]
    assert (group["agent"], group["scored"]) == ("naive", 1)


def test_the_verifiers_image_is_built_from_all_that_the_wheel_is_made_of() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = stated["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["force-include"], *wheel.get("packages", ())}
    script = (ROOT / "scripts" / "docker-engine").read_text(encoding="utf-8")
    given = set(script.split("build Dockerfile.verifier")[1].split("    say ")[0].split())
    # A file is given by itself, or with a folder that it is in.
    assert [path for path in needed if not given & {path, *map(str, Path(path).parents)}] == []
