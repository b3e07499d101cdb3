"""The registry file: which verifier serves which tasks, and where its token is."""

from __future__ import annotations

import os
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.catalog import load_task
from openfingym.errors import UsageError
from openfingym.task import Task
from openfingym.verifiers import VerifierAddress, find_verifiers
from openfingym.verifiers.address import token_of_environment
from openfingym.verifiers.registry import Registry, RegistryEntry, make_token, read_token, register, unregister

TOKEN = "a secret of these tests"
NAMES = ("treasury-forecast", "fx-forecast", "fx-forecast-v2", "amazon-fraud")


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    return {name: load_task(name) for name in NAMES}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.token").write_text(f"{TOKEN}\n")
    (tmp_path / "one.token").chmod(0o600)
    return tmp_path


def write(folder: Path, text: str) -> Path:
    (folder / "verifiers.toml").write_text(text)
    return folder / "verifiers.toml"


def entry(place: str, *tasks: str, token: str | None = None) -> str:
    key = "url" if "//" in place else "socket"
    file = f"admin_token_file = '{token}'\n" if token else ""
    return f"[[verifiers]]\n{key} = '{place}'\ntasks = {list(tasks)}\n{file}"


def test_tasks_are_found_by_name_glob_and_family(
    folder: Path, tasks: dict[str, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", "the token of the environment")
    path = write(
        folder, entry("http://a:1", "treasury-forecast", "fraud/*", token="one.token") + entry("b.sock", "fx-*")
    )
    found = find_verifiers(str(path), tasks.values())
    first, second = (
        VerifierAddress("http://a:1", TOKEN),
        VerifierAddress(str(folder / "b.sock"), "the token of the environment"),
    )
    assert found == {"treasury-forecast": first, "fx-forecast": second, "fx-forecast-v2": second, "amazon-fraud": first}
    monkeypatch.setenv("OPENFINGYM_VERIFIER", str(path))
    assert find_verifiers(None, tasks.values()) == found
    assert find_verifiers("http://c:3", [tasks["fx-forecast"]]) == {
        "fx-forecast": VerifierAddress("http://c:3", "the token of the environment")
    }


@pytest.mark.parametrize("token", ["a sécret", "one line\r\nanother", "tab\tbed"])
def test_no_token_that_cannot_be_sent_is_told(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", token)
    with pytest.raises(UsageError, match="visible ASCII characters") as refused:
        token_of_environment("http://a:1")
    assert token not in str(refused.value)
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", f"{TOKEN}\n")
    assert token_of_environment("http://a:1") == TOKEN


@pytest.mark.parametrize("location", ["http://host:notaport", "http://[::1"])
def test_an_address_that_is_no_url(location: str) -> None:
    with pytest.raises(UsageError, match="expected the verifier's address as http://host:port"):
        VerifierAddress(location, TOKEN).connect()


def test_a_family_glob_is_of_that_family_alone(folder: Path, tasks: dict[str, Task]) -> None:
    path = write(folder, entry("http://a:1", "fraud/*", token="one.token"))
    with pytest.raises(UsageError, match=r"no verifier serves 'fx-forecast'; listed: http://a:1 \(fraud/\*\)"):
        find_verifiers(str(path), [tasks["fx-forecast"]])


def test_a_task_of_two_verifiers_is_refused(folder: Path, tasks: dict[str, Task]) -> None:
    path = write(folder, entry("http://a:1", "fx-*") + entry("http://b:2", "forecasting/*"))
    with pytest.raises(UsageError, match="'fx-forecast' has 2 verifiers, http://a:1 and http://b:2"):
        find_verifiers(str(path), tasks.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[verifiers]]\nurl = 'http://a:1'\n", "tasks: required"),
        (entry("http://a:1"), "needs at least one"),
        ("[[verifiers]]\ntasks = ['fx-*']\n", "give either url or socket"),
        ("[[verifiers]]\nurl = 'http://a'\nsocket = 'b'\ntasks = ['fx-*']\n", "give either url or socket"),
        ("[[verifiers]]\nurl = 'a:8080'\ntasks = ['fx-*']\n", "expected http://host:port, found 'a:8080'"),
        (entry("http://a:1", "frauds/*"), "no family is named 'frauds'"),
        ("[[verifiers]]\nurl = 'http://a'\ntask = ['fx-*']\n", "did you mean 'tasks'"),
        ("[[verifier]]\n", "did you mean 'verifiers'"),
        ("[[verifiers\n", "not valid TOML"),
    ],
)
def test_what_a_registry_may_not_say(folder: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Registry.read(write(folder, text))


def test_a_registry_that_is_not_there(tmp_path: Path, tasks: dict[str, Task]) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.toml: the registry of verifiers cannot be read"):
        find_verifiers(str(tmp_path / "nowhere.toml"), tasks.values())


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602, 0o601])
def test_a_token_that_everybody_may_touch_is_refused(folder: Path, tasks: dict[str, Task], mode: int) -> None:
    (folder / "one.token").chmod(mode)
    path = write(folder, entry("http://a:1", "fx-*", token="one.token"))
    with pytest.raises(UsageError, match=f"mode 0{mode:o}.*chmod"):
        find_verifiers(str(path), [tasks["fx-forecast"]])


@pytest.mark.parametrize(
    "content", [b"", b"short\n", b"two lines of\nsixteen characters\n", "sixteen characters é".encode()]
)
def test_what_is_no_token(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    (tmp_path / "token").chmod(0o600)
    with pytest.raises(UsageError, match="expected a secret"):
        read_token(tmp_path / "token")


def test_a_token_is_made_once_and_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_token(tmp_path / "token")
    finally:
        os.umask(before)
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    made = read_token(tmp_path / "token")
    make_token(tmp_path / "token")
    assert read_token(tmp_path / "token") == made
    assert len(made) == 64


def test_an_address_shows_no_token() -> None:
    assert TOKEN not in repr(VerifierAddress("http://a:1", TOKEN))


@given(
    st.lists(st.text(st.characters(exclude_categories=["C"]), min_size=1), min_size=1),
    st.text(st.characters(exclude_categories=["C"])),
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, names: list[str], token: str) -> None:
    wanted = RegistryEntry(
        socket="/run/v.sock", tasks=tuple(name.replace("/", "") or "x" for name in names), admin_token_file=token
    )
    path = tmp_path_factory.mktemp("registry") / "verifiers.toml"
    register(path, wanted, [])
    assert Registry.read(path).entries == (wanted,)


def test_verifiers_that_come_and_go_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "verifiers.toml"
    entries = [RegistryEntry(url=f"http://localhost:{port}", tasks=(f"task-{port}",)) for port in range(1, 41)]

    def come(one: RegistryEntry) -> None:
        register(path, one, [])
        Registry.read(path)  # whole at every moment

    def go(one: RegistryEntry) -> None:
        unregister(path, one)
        Registry.read(path)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(come, entries))
        assert set(Registry.read(path).entries) == set(entries)
        list(pool.map(go, entries[1:]))
    assert Registry.read(path).entries == (entries[0],)
    assert path.stat().st_mode & 0o777 == 0o644
    assert sorted(item.name for item in tmp_path.iterdir()) == [".verifiers.toml.lock", "verifiers.toml"]
    assert tomllib.loads(path.read_text()) == {"verifiers": [{"url": "http://localhost:1", "tasks": ["task-1"]}]}


def test_who_starts_again_at_its_address_takes_its_own_place(tmp_path: Path, tasks: dict[str, Task]) -> None:
    path = tmp_path / "verifiers.toml"
    register(
        path,
        RegistryEntry(url="http://localhost:1", tasks=("fx-forecast", "amazon-fraud")),
        [tasks["fx-forecast"], tasks["amazon-fraud"]],
    )
    again = RegistryEntry(url="http://localhost:1", tasks=("fx-forecast",))
    assert register(path, again, [tasks["fx-forecast"]]) == []
    assert Registry.read(path).entries == (again,)


def test_a_dead_ones_place_is_taken_only_by_who_serves_all_of_it(tmp_path: Path, tasks: dict[str, Task]) -> None:
    path = write(tmp_path, entry("http://localhost:1", "fx-forecast") + entry("http://localhost:2", "fraud/*"))
    new = RegistryEntry(url="http://localhost:3", tasks=("fx-forecast", "amazon-fraud"))
    with pytest.raises(UsageError, match="amazon-fraud is left to http://localhost:2, which does not answer"):
        register(path, new, [tasks["fx-forecast"], tasks["amazon-fraud"]])
    assert len(Registry.read(path).entries) == 2, "nothing is changed by a refusal"
    alone = RegistryEntry(url="http://localhost:3", tasks=("fx-forecast",))
    assert [dead.place for dead in register(path, alone, [tasks["fx-forecast"]])] == ["http://localhost:1"]
    assert [one.place for one in Registry.read(path).entries] == ["http://localhost:2", "http://localhost:3"]
