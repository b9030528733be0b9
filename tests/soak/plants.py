"""Faults of each kind, planted into the processes that the soak disturbs, so that tests see it find them."""

LOST_ANSWER = """
from quadrag.chat import ledger
put = ledger.Ledger.put_many
def put_many(self, rows, *more, **named):
    return put(self, [row for row in rows if row[0][0] % 4], *more, **named)
ledger.Ledger.put_many = put_many
"""
DOUBLE_CALL = """
from quadrag.chat import http
ask = http.Wire.ask
async def twice(self, *given, **named):
    await ask(self, *given, **named)
    return await ask(self, *given, **named)
http.Wire.ask = twice
"""
# In place of a move, a part of the file, and a hundred moments later the rest.
TORN_FILE = """
import os, pathlib
move = pathlib.Path.replace
def replace(self, target):
    if self.is_dir() or not str(target).endswith(".jsonl"):
        return move(self, target)
    content = self.read_bytes()
    part = len(content) // 3 + 1
    with open(target, "wb", buffering=0) as file:
        file.write(content[:part])
        for _ in range(100):
            open(os.devnull, "wb").close()
        file.write(content[part:])
    self.unlink()
    return pathlib.Path(target)
pathlib.Path.replace = replace
"""
INJECTED_VERDICT = """
import sys
from quadrag.baselines.certify import replies
load = replies.load_module
def load_module(*given):
    module = load(*given)
    folder = type(module).__module__.rpartition(".")[0]
    for name, file in list(sys.modules.items()):
        for function in ("escape", "quote") if name.startswith(folder) else ():
            if hasattr(file, function):
                setattr(file, function, lambda text, *rest: text)
    return module
replies.load_module = load_module
"""
PLANTS = {
    "lost answer": LOST_ANSWER,
    "double call": DOUBLE_CALL,
    "torn file": TORN_FILE,
    "injected verdict": INJECTED_VERDICT,
}
