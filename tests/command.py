"""What the checks of the einc command share: a scratch folder, runs with what they print, and a count of what was checked.

The environment says where things are, as for all checks: EINC (the command), PYTHON, CC, BUILD."""
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

EINC = os.path.abspath(os.environ.get("EINC", os.path.join(os.environ.get("BUILD", "build"), "einc")))
CC = os.environ.get("CC", "cc")
checked = 0


class Scratch:
    """A folder of its own, also the current one and the home of a cache, removed at the end."""

    def __enter__(self):
        self.before = os.getcwd()
        self.path = tempfile.mkdtemp(prefix="einc-check-")
        os.chdir(self.path)
        os.environ["EINC_CACHE_DIR"] = os.path.join(self.path, ".cache")
        for name in ("NO_COLOR", "CLICOLOR_FORCE"):
            os.environ.pop(name, None)
        return self.path

    def __exit__(self, *failure):
        os.chdir(self.before)
        shutil.rmtree(self.path, ignore_errors=True)


def files():
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(".") if ".cache" not in folder for name in names)


def text(output):
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else output


def check(holds, *what):
    """Counts, or says what is wrong and ends."""
    global checked
    checked += 1
    if not holds:
        print("failed:", *what, sep="\n", file=sys.stderr)
        sys.exit(1)


def run(*arguments, stdin=b"", env=None, **options):
    environment = dict(os.environ, **(env or {}))
    return subprocess.run([EINC, *arguments], input=stdin, capture_output=True, env=environment, **options)


def shown(arguments, result):
    return (f"einc {' '.join(repr(a) for a in arguments)}\nexit code {result.returncode}\n--- stdout\n"
            f"{text(result.stdout)[:2000]}--- stderr\n{text(result.stderr)}")


def good(*arguments, **options):
    """Runs, expects success and nothing on stderr but notes; gives what was printed."""
    result = run(*arguments, **options)
    check(result.returncode == 0, shown(arguments, result))
    return result.stdout


def bad(code, words, *arguments, **options):
    """Runs, expects the exit code, one diagnostic with these words on stderr, nothing on stdout, and no file more than
    before. Several errors may be asked for: `errors`."""
    errors = options.pop("errors", 1)
    before = files()
    result = run(*arguments, **options)
    message = text(result.stderr)
    check(result.returncode == code, f"expected exit code {code}", shown(arguments, result))
    for word in [words] if isinstance(words, str) else words:
        check(word in message, f"expected {word!r}", shown(arguments, result))
    check(message.count("error: ") == errors, f"expected {errors} error", shown(arguments, result))
    check(not result.stdout, "expected no output", shown(arguments, result))
    check(files() == before, f"expected no new file, but {set(files()) - set(before)}", shown(arguments, result))
    return message


def bf16(array):
    """numpy has no bf16: rounded to nearest even, as .npy's V2."""
    bits = np.asarray(array, "<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").view("V2")


def from_bf16(array):
    return (np.ascontiguousarray(array).view("<u2").astype("<u4") << 16).view("<f4")


def finish(began):
    import time
    name = os.path.basename(sys.argv[0])
    print(f"{name}: {checked} checks in {time.time() - began:.1f} s")
