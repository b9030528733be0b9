"""What tests have workers do, in a module that a worker can import."""

import os
import signal
import time

from quadrag.errors import QuadragError


def square(number):
    if number == 13:
        raise QuadragError("thirteen")
    return number * number, os.getpid()


def slow_square(number):
    time.sleep(0.2)
    return number * number


def end(number):
    """End the process of the worker that meets 5."""
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


class Opened:
    opened = 0

    def __init__(self, name):
        self.name, self.weights = name, "of the caller"

    def __getstate__(self):
        return {"name": self.name, "weights": None}

    def ask(self, part):
        if self.weights is None:
            self.weights = "of the worker"
            type(self).opened += 1
        return self.name, part, self.weights, type(self).opened
