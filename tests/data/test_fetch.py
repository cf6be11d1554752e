"""Fetching, against a server of our own: whole or nothing under the real name, resume, checksums, clear errors."""

import hashlib
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from jumok.data import fetch as module
from jumok.data.fetch import DOWNLOADS, Download, Patience, RemoteFile, data_home, fetch
from jumok.errors import DataError

QUICK = Patience(retries=2, wait=0.001, timeout=5.0)
CONTENTS = {
    "big.gz": random.Random(1).randbytes(300_007),
    "sub/small.txt": b"one line\n",
}


class Handler(BaseHTTPRequestHandler):
    """Serve CONTENTS, well or in one of the ways in which servers fail."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, asked = self.path.lstrip("/"), self.headers.get("Range")
        self.server.requests.append((path, asked))
        mode = self.server.mode
        body = CONTENTS.get(path)
        if body is None or mode == "missing":
            return self.fail(404)
        if mode == "busy" and len(self.server.requests) <= 2:
            return self.fail(503)
        if mode == "always busy":
            return self.fail(503)
        if mode == "refuses ranges" and asked:
            return self.fail(416)
        if mode == "moved to a file":
            self.send_response(302)
            self.send_header("Location", "ftp://127.0.0.1/etc/passwd")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if mode == "corrupt":
            body = body[:-1] + bytes([body[-1] ^ 1])
        if mode == "changed":
            body += b"more"
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and mode != "plain" else 0
        self.send_response(206 if start else 200)
        if start:
            shown = start - 1 if mode == "wrong range" else start
            self.send_header("Content-Range", f"bytes {shown}-{len(body) - 1}/{len(body)}")
        body = body[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if mode == "cuts" and len(body) > 1000:
            body = body[: len(body) // 2]
            self.close_connection = True
        if mode == "dead":
            body = b""
            self.close_connection = True
        if mode == "stalls":
            self.wfile.write(body[:1009])
            self.close_connection = True
            return self.server.ending.wait(5)
        return self.wfile.write(body)

    def fail(self, code):
        self.send_response(code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.mode, running.requests, running.ending = "good", [], threading.Event()
    running.home = f"http://127.0.0.1:{running.server_port}"
    files = {
        path: RemoteFile(f"{running.home}/{path}", hashlib.sha256(body).hexdigest(), len(body))
        for path, body in CONTENTS.items()
    }
    monkeypatch.setitem(DOWNLOADS, "sample", Download("sample", "bytes", "none", files))
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.ending.set()
    running.shutdown()
    running.server_close()
    thread.join()


def get(folder, **options):
    return fetch("sample", folder, patience=QUICK, **options)


def is_whole(folder):
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return found == CONTENTS  # nothing missing, nothing left over


def real_names(folder):
    return [path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".part"]


def test_all_files_arrive_whole_with_progress(server, tmp_path):
    calls = []
    assert get(tmp_path / "a" / "b", progress=lambda *call: calls.append(call)) == tmp_path / "a" / "b"
    assert is_whole(tmp_path / "a" / "b")
    for path, body in CONTENTS.items():
        done = [count for name, count, total in calls if name == path and total == len(body)]
        assert done == sorted(done)
        assert (done[0], done[-1]) == (0, len(body))


def test_files_already_right_are_not_asked_for_again(server, tmp_path):
    get(tmp_path)
    server.requests.clear()
    calls = []
    get(tmp_path, progress=lambda *call: calls.append(call))
    assert server.requests == []
    assert calls == [(path, len(body), len(body)) for path, body in CONTENTS.items()]


def test_a_damaged_file_is_replaced(server, tmp_path):
    get(tmp_path)
    body = CONTENTS["big.gz"]
    for damaged in (body[:-1], body[:-1] + bytes([body[-1] ^ 1])):
        (tmp_path / "big.gz").write_bytes(damaged)
        get(tmp_path)
        assert is_whole(tmp_path)


@pytest.mark.parametrize("kept", [1, 1009, 300_006])
def test_a_part_is_continued_where_it_stopped(server, tmp_path, kept):
    (tmp_path / "big.gz.part").write_bytes(CONTENTS["big.gz"][:kept])
    get(tmp_path)
    assert ("big.gz", f"bytes={kept}-") in server.requests
    assert is_whole(tmp_path)


def test_a_part_already_complete_needs_no_request(server, tmp_path):
    (tmp_path / "big.gz.part").write_bytes(CONTENTS["big.gz"])
    get(tmp_path)
    assert [path for path, _ in server.requests] == ["sub/small.txt"]
    assert is_whole(tmp_path)


@pytest.mark.parametrize("mode", ["plain", "refuses ranges", "wrong range"])
def test_a_server_without_usable_ranges_sends_the_file_from_the_start(server, tmp_path, mode):
    server.mode = mode
    (tmp_path / "big.gz.part").write_bytes(CONTENTS["big.gz"][:1009])
    get(tmp_path)
    assert is_whole(tmp_path)


@pytest.mark.parametrize("part", [b"something else" * 100, b"x" * 400_000, b"x" * 300_007])
def test_a_part_of_something_else_is_replaced(server, tmp_path, part):
    (tmp_path / "big.gz.part").write_bytes(part)
    get(tmp_path)
    assert is_whole(tmp_path)


def test_a_connection_cut_again_and_again_still_arrives(server, tmp_path):
    server.mode = "cuts"  # more often than there are retries, but each time further
    get(tmp_path)
    assert is_whole(tmp_path)
    assert len(server.requests) > QUICK.retries + 3
    ranges = [asked for path, asked in server.requests if path == "big.gz"]
    assert ranges[1] == f"bytes={len(CONTENTS['big.gz']) // 2}-"  # nothing that arrived is lost or asked for twice


def test_what_arrived_before_a_failure_stays_as_part_and_is_continued(server, tmp_path, monkeypatch):
    server.mode = "cuts"
    asked = []
    monkeypatch.setattr(module.time, "sleep", lambda seconds: asked.append(seconds) or setattr(server, "mode", "dead"))
    with pytest.raises(DataError) as error:
        get(tmp_path)
    half = len(CONTENTS["big.gz"]) // 2
    assert real_names(tmp_path) == []
    assert (tmp_path / "big.gz.part").read_bytes() == CONTENTS["big.gz"][:half]
    message = str(error.value)
    assert f"from 127.0.0.1:{server.server_port}: the connection closed" in message
    assert f"{half:,} of 300,007 bytes are kept" in message
    assert "run the same command" in message
    assert asked == [0.001, 0.002]  # each wait twice the one before
    server.mode = "good"
    get(tmp_path)
    assert server.requests[-2] == ("big.gz", f"bytes={half}-")
    assert is_whole(tmp_path)


def test_a_server_that_falls_silent_is_given_up_after_the_timeout(server, tmp_path):
    server.mode = "stalls"
    with pytest.raises(DataError, match=r"timed out \(tries: 1\). 1,009 of 300,007 bytes are kept"):
        fetch("sample", tmp_path, patience=Patience(retries=0, wait=0.001, timeout=0.1))
    assert (tmp_path / "big.gz.part").read_bytes() == CONTENTS["big.gz"][:1009]


def test_a_busy_server_is_asked_again(server, tmp_path):
    server.mode = "busy"
    get(tmp_path)
    assert is_whole(tmp_path)


def test_corrupted_bytes_never_get_the_real_name(server, tmp_path):
    server.mode = "corrupt"
    with pytest.raises(DataError) as error:
        get(tmp_path)
    body = CONTENTS["big.gz"]
    message = str(error.value)
    assert hashlib.sha256(body).hexdigest() in message
    assert hashlib.sha256(body[:-1] + bytes([body[-1] ^ 1])).hexdigest() in message
    assert f"{tmp_path / 'big.gz.part'} was removed" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("missing", "answered 404 Not Found for"),
        ("always busy", "503 Service Unavailable (tries: 3)"),
        ("changed", "has 300,011 bytes, expected 300,007"),
        ("moved to a file", "unknown url type: ftp"),
    ],
)
def test_an_answer_that_is_no_file_is_explained(server, tmp_path, mode, message):
    server.mode = mode
    with pytest.raises(DataError) as error:
        get(tmp_path)
    assert message in str(error.value)
    assert real_names(tmp_path) == []


def test_a_missing_file_is_not_asked_for_twice(server, tmp_path):
    server.mode = "missing"
    with pytest.raises(DataError):
        get(tmp_path)
    assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_explained(server, tmp_path):
    gone = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = gone.server_port
    gone.server_close()
    with pytest.raises(DataError, match=rf"from 127.0.0.1:{port}: .*refused \(tries: 3\).*0 of 300,007 bytes"):
        get(tmp_path, base_url=f"http://127.0.0.1:{port}/mirror")


def test_a_mirror_stands_in_for_the_home(server, tmp_path, monkeypatch):
    files = {path: RemoteFile("https://home.invalid/x", file.sha256, file.bytes)
             for path, file in DOWNLOADS["sample"].files.items()}  # fmt: skip
    monkeypatch.setitem(DOWNLOADS, "sample", Download("sample", "bytes", "none", files))
    for base in (server.home, server.home + "/"):
        get(tmp_path / str(len(base)), base_url=base)
        assert is_whole(tmp_path / str(len(base)))


@pytest.mark.parametrize(
    "address", ["file:///etc", "ftp://127.0.0.1/x", "127.0.0.1/x", "http://", "http://[x", "http://a:b"]
)
def test_only_http_addresses_are_taken(server, tmp_path, address):
    with pytest.raises(DataError, match="must begin with http:// or https://"):
        get(tmp_path, base_url=address)
    assert real_names(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_is_explained(server, tmp_path):
    (tmp_path / "big.gz.part").symlink_to("/dev/full")
    with pytest.raises(DataError, match=rf"the disk of {tmp_path} is full; free some space"):
        get(tmp_path)
    assert not (tmp_path / "big.gz").exists()


def test_a_place_that_cannot_be_written_is_explained(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=rf"cannot write to {tmp_path}/file: a file of that name is in the way; give"):
        get(tmp_path / "file")
    (tmp_path / "big.gz").mkdir()
    with pytest.raises(DataError, match=r"cannot write to .*big.gz.*: it is a folder; give"):
        get(tmp_path)


def test_two_fetches_do_not_write_to_one_folder(server, tmp_path):
    refusals = []

    def second(*_):
        if not refusals:
            with pytest.raises(DataError, match="another fetch is writing to") as error:
                get(tmp_path)
            refusals.append(error)

    get(tmp_path, progress=second)
    assert refusals
    assert is_whole(tmp_path)
    get(tmp_path)  # and the folder is free again


def test_an_unknown_name_is_met_with_the_nearest(tmp_path):
    with pytest.raises(DataError, match="no set 'multi30' to fetch; did you mean 'multi30k'"):
        fetch("multi30", tmp_path)


def test_every_download_is_complete():
    wanted = {f"{split}.{language}.gz" for split in ("train", "val") for language in ("en", "de", "fr", "cs")}
    assert set(DOWNLOADS["multi30k"].files) == wanted
    for name, download in DOWNLOADS.items():
        assert download.name == name
        assert download.description
        assert download.licence
        sums = [file.sha256 for file in download.files.values()]
        assert len(set(sums)) == len(sums)
        for path, file in download.files.items():
            assert file.url.startswith("https://")
            assert file.url.endswith("/" + Path(path).name)
            assert not Path(path).is_absolute()
            assert ".." not in Path(path).parts
            assert len(bytes.fromhex(file.sha256)) == 32
            assert file.bytes > 0


def test_the_home_of_data_follows_the_environment(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.delenv("JUMOK_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert data_home() == tmp_path / "me" / ".local" / "share" / "jumok"
    monkeypatch.setenv("XDG_DATA_HOME", "relative/ignored")
    assert data_home() == tmp_path / "me" / ".local" / "share" / "jumok"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert data_home() == tmp_path / "xdg" / "jumok"
    monkeypatch.setenv("JUMOK_DATA_HOME", "~/sets")
    assert data_home() == tmp_path / "me" / "sets"
    assert get(None) == tmp_path / "me" / "sets" / "sample"
    assert is_whole(tmp_path / "me" / "sets" / "sample")
