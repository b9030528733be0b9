"""The command line: reads the arguments, runs the command, and turns bad input into one line and code 2."""

import os
import signal
import sys
import threading
from collections.abc import Sequence

from quadrag import __version__, commands
from quadrag.commands.shared.parser import parse
from quadrag.errors import QuadragError
from quadrag.printing import say


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command by its arguments, those of the process when None, and return its exit code.

    It is 2 after bad input, a dead server or a reached budget; the reason is then one line on stderr.
    """
    typed = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments = parse(__version__, typed)
        arguments.typed = typed
        if threading.current_thread() is threading.main_thread():  # no other may say what a signal does
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # as an interrupt: what was made is kept
        # Set before the libraries load: neither their bars nor their notes belong between our lines.
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        from quadrag import parallel  # help does without

        with parallel.use(getattr(arguments, "on", None)):
            return commands.load(arguments.command).run(arguments) or 0
    except QuadragError as error:
        say(str(error))
        return error.code
    except KeyboardInterrupt:
        say("stopped; run the same command again to go on")
        return 130
    except OSError as error:
        # A full disk, a folder that may not be written: files are whole or not there, so the place says it all.
        place = f"{error.filename}: " if error.filename else ""
        say(f"{place}{error.strerror or error}; make room, or name another place with --out, QUADRAG_CACHE or HF_HOME")
        return 2
