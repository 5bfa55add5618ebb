"""Runs one attempt to read a file, in a process of its own with limits, and names its outcome."""
import os
import re
import resource
import signal
import tempfile

# Seconds of processor time, seconds in all, and bytes of memory for one file.
SECONDS, SECONDS_IN_ALL, MEMORY = 10, 300, 2_000_000_000

ACCEPTS, REFUSES = "accepts", "refuses"
OUTSIDE = "data outside"
CRASHES, OUT_OF_BOUNDS, ABORTS = "crashes", "out of bounds", "aborts"
HANGS, OUT_OF_MEMORY = "hangs", "out of memory"

# The exit codes of our programs. A Rust program that panics exits with the last one.
ACCEPTED, REFUSED, NO_MEMORY, PANICKED = 0, 1, 3, 101
# The place of an error is our own program: it used what the reader returned.
IN_PROGRAM = re.compile(r"#0 0x[0-9a-f]+ in use[ (]|panicked at src/main.rs")

# AddressSanitizer needs terabytes of address space, so it has limits of its own. ggml would run a debugger.
SANITIZER = {"GGML_NO_BACKTRACE": "1",
             "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb={MEMORY >> 20}"
                             f":hard_rss_limit_mb={MEMORY >> 20}:exitcode=99:handle_abort=0"}


def data_now():
    """The bytes of memory that this process has."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData:"))


def limit(kind, amount):
    resource.setrlimit(kind, (amount, amount))


def of_function(function):
    """The outcome of a function that exits with one of the codes above."""
    def action():
        limit(resource.RLIMIT_DATA, data_now() + MEMORY)
        os._exit(function())
    return of_action(action)


def of_command(command, sanitized):
    """The outcome of a program. AddressSanitizer watches it if it is sanitized."""
    def action():
        if not sanitized:
            limit(resource.RLIMIT_AS, MEMORY)
        os.execve(command[0], command, {**os.environ, **SANITIZER})
    return of_action(action)


def of_action(action):
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(errors.fileno(), 2)
                limit(resource.RLIMIT_CORE, 0)
                resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(SECONDS_IN_ALL)
                action()
            finally:
                os._exit(127)  # the action does not return
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        return name_of(status, errors.read().decode(errors="replace"))


def name_of(status, errors):
    name = name_by_status(status, errors)
    # The failed allocation is the cause of what follows.
    return OUT_OF_MEMORY if name in (CRASHES, OUT_OF_BOUNDS, ABORTS) and "failed to allocate" in errors else name


def name_by_status(status, errors):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGXCPU, signal.SIGALRM):
            return HANGS
        if number == signal.SIGKILL or "memory allocation of" in errors or "bad_alloc" in errors:
            return OUT_OF_MEMORY
        return ABORTS if number == signal.SIGABRT else CRASHES
    code = os.WEXITSTATUS(status)
    if "AddressSanitizer" in errors and code not in (ACCEPTED, REFUSED):
        if any(text in errors for text in ("out-of-memory", "allocation-size-too-big", "rss limit")):
            return OUT_OF_MEMORY
        if IN_PROGRAM.search(errors):
            return OUTSIDE
        return CRASHES if "SEGV" in errors or "stack-overflow" in errors else OUT_OF_BOUNDS
    if code == PANICKED and IN_PROGRAM.search(errors):
        return OUTSIDE
    names = {ACCEPTED: ACCEPTS, REFUSED: REFUSES, NO_MEMORY: OUT_OF_MEMORY, PANICKED: ABORTS}
    if code not in names:
        raise RuntimeError(f"exit code {code}: {errors[-2000:]}")
    return names[code]
