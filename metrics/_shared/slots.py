# SPDX-License-Identifier: Apache-2.0
r"""How texts get into a prompt: each in its slot, escaped so that none passes for an instruction.

What could open or close a tag of the prompt, however it is spelled, and the marks of chat templates have their first
bracket written as its escape, `\u003c/answer>`. As a JSON string on one line a text cannot end its own string, open a
line, or spell any tag or brace either, and nothing of it is lost.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

PLAIN = "plain"  # the name of the prompts for small judges, of which `plain.py` reads the replies
_MARKUP = frozenset("<>{}[]`")
# Control and format characters, lone surrogates, private use, line and paragraph separators: what is not seen.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # invisible too, and enough to hide a text
# All but printable ASCII without markup, and what Chinese is written with: these alone are looked at one by one.
_RARE = re.compile(r"[^ -;=?-Z\\^_a-z|~\u3001-\u3009\u4e00-\u9fef\uff01-\uff5e]")

# What a reader may take for ASCII's own, beside the compatibility forms that NFKC knows.
_ALIKE = {
    "<": "\u00ab\u02c2\u1438\u16b2\u2039\u226a\u226e\u227a\u22d6\u22d8\u2329\u276c\u276e\u2770"
    "\u27e8\u27ea\u2991\u29fc\u2a79\u3008\u300a",
    ">": "\u00bb\u02c3\u1433\u203a\u226b\u226f\u227b\u22d7\u22d9\u232a\u276d\u276f\u2771"
    "\u27e9\u27eb\u2992\u29fd\u2a7a\u3009\u300b",
    "/": "\\\u2044\u2215\u2216\u2571\u27cb\u29f5\u29f8\u3033\u30ce\u4e3f",
    "|": "\u00a6\u01c0\u2223\u23d0\u2502\u2503\u2758\u4e28",
    "[": "\u2045\u2772\u27e6\u3010\u3014\u3016\u301a",
    "]": "\u2046\u2773\u27e7\u3011\u3015\u3017\u301b",
    "": "\u115f\u1160\u2800\u3164\uffa0",  # letters without a shape
}
_SLOT = re.compile(r"\{(\w+)\}")
_PLAIN = {char: plain for plain, chars in _ALIKE.items() for char in chars}
_OPENS = re.compile(f"[<\\[{_ALIKE['<']}{_ALIKE['[']}\ufe17\ufe39\ufe3b\ufe3d\ufe3f\ufe47\ufe5d\ufe64\uff1c\uff3b]")
# Marks with bars (<|im_start|>, [|user|]), and the names of those without (<s>, <start_of_turn>; [INST], <<SYS>>).
_BARRED = r"[<\[]\s*\|[^<>|\[\]]{1,64}\|"
_NAMED = r"<\s*/?\s*(?:s|sys|bos|eos|pad|unk|eo[adhmps]|sop|(?:start|begin|beginning|end)_of_\w+|im_\w+|endoftext"
_NAMED += r"|(?:reserved_|extra_id_|unused|tokens_unused_)\d+)\s*>"
_BRACKETED = r"\[\s*/?\s*(?:inst|gmask|system_prompt|available_tools|tool_calls|tool_results|tool_content)\s*\]"


class _Folded(dict[int, str]):
    """Characters as a reader may take them: small, brackets and strokes as ASCII has them, "" for what is not seen."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        unseen = unicodedata.category(char) in _UNSEEN | {"Mn", "Me"} and not char.isspace()
        same = unicodedata.normalize("NFKC", _PLAIN.get(char, char))
        same = _PLAIN.get(same, same).lower()
        self[code] = "" if unseen else same if len(same) < 2 else char
        return self[code]


_FOLDED = _Folded()


@lru_cache
def _marks(template: str) -> re.Pattern[str]:
    forms = [_BARRED, _NAMED, _BRACKETED]
    tags = {name.lower() for name in re.findall(r"</([\w-]+)>", template)}
    if tags:
        names = "|".join(r"\s*".join(map(re.escape, name)) for name in sorted(tags))
        # A closing tag with a letter that is not ASCII's may be read as one of them.
        forms += [rf"<[\s/]*(?:{names})(?![\w-])", r"<\s*/[\s/]*\w*[^\W\x00-\x7f]"]
    return re.compile("|".join(forms))


def escape(text: str, template: str = "") -> str:
    r"""Return a text with what could pass for markup, a chat template's or of `template`'s tags, as `\uXXXX`."""
    marks = _marks(template)
    if not _OPENS.search(text) or not marks.search(text.translate(_FOLDED)):
        return text
    folded = [_FOLDED[ord(char)] for char in text]
    places = [place for place, char in enumerate(folded) if char]
    found = {places[mark.start()] for mark in marks.finditer("".join(folded))}
    return "".join(_spell(char) if place in found else char for place, char in enumerate(text))


def _spell(char: str) -> str:
    return json.dumps(char)[1:-1] if char > "~" else f"\\u{ord(char):04x}"


def quote(text: str) -> str:
    r"""Return a text as a JSON string, quotation marks included, with markup and what is not seen as `\uXXXX`."""

    def hide(match: re.Match[str]) -> str:
        char = match.group()
        hidden = char in _MARKUP or unicodedata.category(char) in _UNSEEN or _SELECTORS.match(char)
        return _spell(char) if hidden else char

    return _RARE.sub(hide, json.dumps(text, ensure_ascii=False))


def fill(template: str, texts: Mapping[str, str]) -> str:
    """Put texts into the slots of their names, `{answer}`, escaped; a slot's name within a text, other braces, stay."""
    # Not str.format, nor one replacement after another: JSON has braces, and a text may hold a slot's name.
    return _SLOT.sub(lambda slot: escape(texts[slot[1]], template) if slot[1] in texts else slot[0], template)


def ask_user(content: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": content}]


def instructions(prompts: Any, ours: Mapping[str, Any], needed: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the instructions by name, ours where one is not given, each a text or a system's and a user's.

    Raises:
        ValueError: a name is not among ours, or a slot that is needed has no place.
    """
    given = {} if prompts is None else prompts
    if not isinstance(given, Mapping) or not given.keys() <= ours.keys():
        shown = ", ".join(map(repr, given)) if isinstance(given, Mapping) else type(given).__name__
        raise ValueError(f"prompts is {shown}; expected a mapping from {', '.join(ours)} to texts")
    for name, prompt in given.items():
        texts = [*prompt] if isinstance(prompt, list | tuple) else [prompt]
        known = len(texts) in (1, 2) and all(isinstance(text, str) for text in texts)
        lacking = [slot for slot in needed[name] if not (known and any(slot in text for text in texts))]
        if lacking or not known:
            raise ValueError(
                f"prompts[{name!r}] has no {', '.join(lacking)}; expected a text with {' '.join(needed[name])}"
            )
    return {**ours, **given}
