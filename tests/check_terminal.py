"""What the einc command does on a terminal and under signals: colour, the progress bar, ^C. About 25 s.

The long work is a sum over an index that no operand has, so as long as the test likes."""
import os
import pty
import re
import select
import signal
import subprocess
import time

import numpy as np

from command import EINC, Scratch, check, files, finish, good

LONG = ("run", "sqrt(x[i,j] ^ 2 + @k) -> [i,j]", "-i", "x.npy", "--threads", "1")


def on_terminal(arguments, stop=None, env=None):
    """Runs on a pseudo-terminal of its own session; `stop(screen, process)` is called now and then, until it returns
    true. Gives the exit code and what was shown."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **(env or {})}
    process = subprocess.Popen([EINC, *arguments], stdin=child, stdout=child, stderr=child, env=environment,
                               start_new_session=True, preexec_fn=lambda: take_terminal(child))
    os.close(child)
    screen, stopped = b"", False
    while True:
        ready, _, _ = select.select([parent], [], [], 0.05)
        if ready:
            try:
                got = os.read(parent, 65536)
            except OSError:
                got = b""
            if not got:
                break
            screen += got
        if stop and not stopped:
            stopped = stop(screen, parent)
    os.close(parent)
    return process.wait(), screen.decode()


def take_terminal(child):
    import fcntl
    import termios
    fcntl.ioctl(child, termios.TIOCSCTTY, 0)


def seconds_of(arguments):
    began = time.time()
    good(*arguments)
    return time.time() - began


def size_for(seconds):
    """The extent of k that keeps this machine busy for about so long, with a margin for one that others use, too."""
    k = 1000
    while True:
        taken = min(seconds_of((*LONG, "-d", f"k={k}", "-o", "warm.npy")) for _ in range(2))    # the first compiles
        if taken > 0.3:
            return int(k * seconds / taken)
        k *= 4


def check_progress(k):
    code, screen = on_terminal((*LONG, "-d", f"k={k}", "-o", "out.npy"))
    shown = [int(p) for p in re.findall(r"\[=* *\] +(\d+) %", screen)]
    check(code == 0 and len(shown) >= 3, "a progress bar", code, screen)
    check(shown == sorted(shown) and shown[-1] <= 100, "progress that only grows", shown)
    check(screen.endswith("\r\x1b[K"), "the bar is removed at the end", repr(screen[-60:]))
    check(re.search(r"\d+ (s|min \d+ s) left", screen), "the time that is left", screen)
    result = subprocess.run([EINC, *LONG, "-d", f"k={k}", "-o", "out.npy"], capture_output=True)
    check(result.returncode == 0 and not result.stderr, "no bar without a terminal", result.stderr)
    code, screen = on_terminal((*LONG, "-d", "k=3", "-o", "out.npy"))
    check(code == 0 and not screen, "no bar for short work", screen)
    code, screen = on_terminal((*LONG, "-d", f"k={k}", "-o", "out.npy"), env={"TERM": "dumb"})
    check(code == 0 and not screen, "no bar on a dumb terminal", screen)


def check_interrupt(k):
    """^C on the terminal, and the signals that a shell or a batch system sends: exit code 128 + signal, nothing left."""
    np.save("kept.npy", np.float32([1, 2, 3]))
    before = files()

    def press(screen, parent):
        if b"%" in screen:
            os.write(parent, b"\x03")
            return True
        return False

    began = time.time()
    code, screen = on_terminal((*LONG, "-d", f"k={k}", "-o", "kept.npy"), press)
    check(code in (130, -signal.SIGINT), "^C", code, screen)
    check(time.time() - began < 20, "^C does not wait for the work")
    check(files() == before and (np.load("kept.npy") == [1, 2, 3]).all(), "what was there before is kept", files())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = subprocess.Popen([EINC, *LONG, "-d", f"k={k}", "-o", "new.npy"], stderr=subprocess.PIPE)
        wait_for_output(process)
        process.send_signal(number)
        message = process.communicate()[1]
        check(process.returncode in (128 + number, -number), number, process.returncode)
        check(not message, "nothing to say", message)
        check(files() == before, "no partial output", set(files()) - set(before))


def check_long_unit():
    """One number that takes minutes: no kernel asks in the middle of it."""
    before = files()
    for times in (1, 2):
        process = subprocess.Popen([EINC, "run", "sqrt(x[i] ^ 2 + @k) -> [i]", "-i", "one.npy", "-d", "k=1000000000000",
                                    "-o", "new.npy"], stderr=subprocess.PIPE)
        wait_for_output(process)
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        message = process.communicate(timeout=60)[1]
        check(process.returncode in (128 + signal.SIGINT, -signal.SIGINT), "a long unit ends", process.returncode)
        check(not message, "nothing to say", message)
        check(files() == before, "no partial output", set(files()) - set(before))


def wait_for_output(process):
    """Until the file beside the output is there: the kernel runs."""
    end = time.time() + 30
    while time.time() < end and process.poll() is None and not any(".einc-" in name for name in files()):
        time.sleep(0.01)
    check(any(".einc-" in name for name in files()), "an output beside its place while the kernel runs", files())
    time.sleep(0.1)


def check_colour():
    mistake = ("run", "ij | logsumexpo j", "-i", "x.npy")
    code, screen = on_terminal(mistake)
    check(code == 3 and "\x1b[" in screen, "colour on a terminal", screen)
    code, screen = on_terminal(mistake, env={"NO_COLOR": "1"})
    check(code == 3 and "\x1b[" not in screen and "error:" in screen, "NO_COLOR", screen)
    code, screen = on_terminal(mistake, env={"TERM": "dumb"})
    check(code == 3 and "\x1b[" not in screen, "no colour on a dumb terminal", screen)
    result = subprocess.run([EINC, *mistake], capture_output=True)
    check(result.returncode == 3 and b"\x1b" not in result.stderr, "no colour in a pipe", result.stderr)


def main():
    began = time.time()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):    # in the background or under nohup some begin ignored
        signal.signal(number, signal.SIG_DFL)
    with Scratch():
        np.save("x.npy", np.random.default_rng(3).standard_normal((64, 500)).astype("f4"))
        np.save("one.npy", np.ones(1, "f4"))
        k = size_for(2.5)
        check_progress(k)
        check_interrupt(20 * k)
        check_long_unit()
        check_colour()
    finish(began)


main()
