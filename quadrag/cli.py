"""The command line: reads the arguments, runs the command, and turns bad input into one line and code 2."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from quadrag import __version__, commands
from quadrag.commands.shared.parser import parse
from quadrag.errors import NO_DESCRIPTORS, QuadragError
from quadrag.labels import choose_labels
from quadrag.progress import say


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments without the program's name; those of the process when None.

    Returns:
        0, or 2 after bad input, a dead server or a reached budget; the reason is then one line on stderr.
    """
    typed = sys.argv[1:] if argv is None else list(argv)
    try:
        choose_labels()
    except QuadragError as error:
        say(str(error))
        return 2
    arguments = parse(__version__, typed)
    arguments.typed = typed
    if threading.current_thread() is threading.main_thread():  # no other may say what a signal does
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as an interrupt: what was made is kept, and said so
    # Set before the libraries load: neither their bars nor their notes belong between our lines.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    from quadrag import parallel  # help does without
    from quadrag.scratch import check_writable

    try:
        with parallel.use(getattr(arguments, "on", None)):
            if out := getattr(arguments, "out", None):
                check_writable(Path(out))
            return commands.load(arguments.command).run(arguments) or 0
    except QuadragError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say("stopped; run the same command again to go on")
        return 130
    except OSError as error:
        # A full disk, a folder that may not be written: files are whole or not there, so the place says it all.
        if error.errno in NO_DESCRIPTORS:
            # An event loop that could not be made whole would tell a traceback as it goes.
            sys.unraisablehook = lambda _: None
        say(f"{error.filename or 'the system'}: {error.strerror or error}{_remedy(error, arguments)}")
        return 2


def _remedy(error: OSError, arguments: argparse.Namespace) -> str:
    """Say what to do about too many open files, or about a place that cannot be written."""
    from quadrag.paths import cache_setting

    if error.errno in NO_DESCRIPTORS:
        return "; allow more with `ulimit -n`, and run again"
    setting = cache_setting(Path(str(error.filename)).absolute()) or ("--out" if hasattr(arguments, "out") else None)
    return f"; name a place that can be written with {setting}" if setting else ""
