"""`jumok …` many times over: one process reads torch and jumok, and every command is a fork of it.

python tests/ways/warm.py SOCKET                    serves until it is ended
python tests/ways/warm.py SOCKET translate ko-en …  types a command: folder, variables and streams are the caller's
"""

import json
import os
import socket
import sys


def serve(address: str) -> None:
    """Answer one command after another, each in a process of its own."""
    from importlib import import_module
    from pkgutil import walk_packages

    import jumok

    import_module("torch._dynamo")  # torch's optimizers import it at their first step
    for module in walk_packages(jumok.__path__, "jumok."):
        if module.name != "jumok.__main__":
            import_module(module.name)
    jumok.training.trial.LONGEST = 0.02  # seconds that `check` times steps
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            with connection:
                request, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
                child = os.fork()
                if child == 0:
                    listener.close(), connection.close()
                    os._exit(run(streams, **json.loads(request)))
                for stream in streams:
                    os.close(stream)
                connection.send(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF]))


def run(streams: list[int], folder: str, variables: dict[str, str], arguments: list[str]) -> int:
    """Run a command here; return its exit code."""
    from jumok.cli.main import main

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = ["jumok", *arguments]
    try:
        main()
        code = 0
    except SystemExit as leaving:
        code = leaving.code or 0
    sys.stdout.flush(), sys.stderr.flush()
    return code


def ask(address: str, arguments: list[str]) -> int:
    """Have a command run; return its exit code."""
    request = {"folder": os.getcwd(), "variables": dict(os.environ), "arguments": arguments}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
        return ord(connection.recv(1) or b"\1")


if __name__ == "__main__":
    if sys.argv[2:]:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
    serve(sys.argv[1])
