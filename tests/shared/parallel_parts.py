"""What tests have workers do, in a module that a worker can import."""

import os
import signal
import time

from quadrag import parallel
from quadrag.errors import QuadragError


def square(number):
    if number == 13:
        raise QuadragError("thirteen")
    return number * number, os.getpid()


def slow_square(number):
    time.sleep(0.2)
    return number * number


def end(number):
    """End the process of the worker that meets 5; the caller's own goes on."""
    if number == 5 and os.environ.get("CALLER") != str(os.getpid()):
        os.kill(os.getpid(), signal.SIGKILL)
    return number


class Opened(parallel.Travels):
    stays = ("ledger",)
    made = 0

    def __init__(self, name, *, ledger=None):
        type(self).made += 1
        self.name, self.ledger = name, ledger

    def ask(self, part):
        return self.name, part, self.ledger, type(self).made
