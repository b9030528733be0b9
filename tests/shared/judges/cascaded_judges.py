"""Two judges of a cascade, small and big, and the labels that it is chosen on."""

from __future__ import annotations

from chat_server import Rule

# Of four answers the rule finds one right, as it is; of the others `small` calls one wrong, as it is, and two right,
# of which one is. `big` says what people say.
KINDS = ("It is called {n} here", "alpha {n}", "beta {n}", "beta no {n}")
LABELS = "id,question,answer,gold,label\n" + "".join(
    f"{n},Which is number {n}?,{KINDS[n % 4].format(n=n)},{n if n % 4 == 0 else 'x'},"
    f"{'right' if n % 2 == 0 else 'wrong'}\n"
    for n in range(40)
)
CASCADE = "cascade(rule:bounded[right] > small[wrong] > big)"


def says(model, match, text):
    """A rule by which a model replies so to what has a text in it."""
    return Rule("reply", match=match, model=model, message={"content": text})


def ready(server):
    """A server of `small` and `big`, which has seen no question."""
    server.models[:] = ["small", "big"]
    server.rules[:] = [says("small", "alpha", '{"score": 0}'), says("small", "gamma", "I cannot say.")]
    server.rules += [says("big", "alpha", '{"score": 0}'), says("big", "beta no", '{"score": 0}')]
    server.bodies.clear()
    return server


def both(server):
    """The options that name both judges."""
    return ("--judge", f"{server.url}#small", "--judge-large", f"{server.url}#big", "--ledger", "ledger")


def flat(text):
    """A text on one line."""
    return " ".join(text.split())
