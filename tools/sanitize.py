"""The kernels in C and their tests under AddressSanitizer and UndefinedBehaviorSanitizer: make sanitize.

each compiler, for this processor and for any → two errors on purpose, which must be found → the tests → a line

Exit code 1 where anything was found. A compiler that is not there is said to be missing.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHECKS = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
# What each compiler needs besides, and the library that must be there before Python starts.
COMPILERS = {
    "gcc": ("", "libasan.so"),
    "clang": ("-shared-libasan", f"libclang_rt.asan-{platform.machine()}.so"),
}
PROCESSORS = {"this processor": "", "any processor": "-DJUMOK_GENERIC"}
TESTS = (
    "tests/native/test_kernels.py",
    "tests/native/test_packed.py",
    "tests/native/test_out_of_range.py",
    "tests/nn/test_native_attention.py",
    "tests/nn/test_dropout_native.py",
    "tests/decoding/test_native_search.py",
    "tests/decoding/test_native_sources.py",
    "tests/decoding/test_native_stack.py",
    "tests/decoding/test_native_step.py",
    "tests/decoding/test_captured_weights.py",
    "tests/tasks/test_losses.py",
    "tests/tasks/test_shortlist.py",
)
PATIENCE = 1800  # seconds for the tests
ON_PURPOSE = {  # what the sanitizer calls an error → a program that makes it
    "heap-buffer-overflow": "few = (ctypes.c_float * 4)(); library.gelu(few, ctypes.c_int64(64), few)",
    "misaligned address": "few = (ctypes.c_float * 9)(); odd = ctypes.byref(few, 1); library.gelu(odd, ctypes.c_int64(8), odd)",
}


def main() -> int:
    """Print a line for each compiler and processor; return the exit code."""
    failed = 0
    for compiler, (more, name) in COMPILERS.items():
        if not shutil.which(compiler):
            print(f"{compiler:6} is not on PATH: nothing checked")
            continue
        runtime = printed(compiler, f"-print-file-name={name}")
        if not Path(runtime).is_absolute():
            print(f"{compiler:6} has no {name}: nothing checked (Debian: apt install libclang-rt-dev)")
            continue
        for processor, flag in PROCESSORS.items():
            start = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                flags = " ".join((CHECKS, more, flag))
                found, told = check(Path(folder), compiler=compiler, flags=flags, runtime=runtime)
            print(f"{compiler:6} {processor:15} {told} ({time.monotonic() - start:.0f} s)", flush=True)
            failed += found
    return min(failed, 1)


def check(folder: Path, *, compiler: str, flags: str, runtime: str) -> tuple[bool, str]:
    """Return whether anything is wrong with kernels compiled that way, and a line about it."""
    report = folder / "report"
    env = {
        **os.environ,
        "CC": compiler,
        "JUMOK_NATIVE_FLAGS": flags,
        "JUMOK_CACHE": str(folder / "cache"),
        "PYTHONMALLOC": "malloc",  # Python's own allocator would hide what lies beyond a block
        # The C++ library beside it, because what throws exceptions is looked for when the sanitizer starts.
        "LD_PRELOAD": f"{runtime}:{printed(compiler, '-print-file-name=libstdc++.so')}",
        "ASAN_OPTIONS": f"detect_leaks=0:log_path={report}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={report}",
    }
    env.pop("JUMOK_NATIVE", None)
    for error, program in ON_PURPOSE.items():
        start = (
            "import ctypes; from jumok.native.build import state; library = state().library; assert library, state()"
        )
        done = run(env, "-c", f"{start}; {program}")
        if error not in done.stderr + reports(folder):
            return True, f"the sanitizer does not find a {error} that is there:\n{done.stdout}{done.stderr}"
        for path in folder.glob("report*"):
            path.unlink()
    done = run(env, "-m", "pytest", "-p", "no:cacheprovider", "--capture=sys", "-x", "-m", "not slow", *TESTS)
    found = reports(folder)
    if found or done.returncode:
        return True, f"FAILED\n{found or done.stdout[-3000:]}{done.stderr[-3000:]}"
    counts = re.search(r"\d+ passed.*?(?= in |$)", done.stdout)
    return False, f"clean: {counts[0] if counts else 'all tests passed'}"


def run(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the clone."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=PATIENCE
    )


def printed(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def reports(folder: Path) -> str:
    """Return what sanitizers reported."""
    return "\n".join(path.read_text(errors="replace") for path in sorted(folder.glob("report*")))


if __name__ == "__main__":
    sys.exit(main())
