"""The signs of Chinese: between parts of a sentence, around quoted texts, and where a blank stands."""

import re

_HAN = re.compile("[\u4e00-\u9fff]")
_MARKS = "，。；：？！、（）“”"  # which take no blank beside them
ASIDE = 0xE000
_SIGN = "[\ue000-\uf8ff]"  # of those that stand for quoted texts
# What keeps its signs: others' words, code and commands, an option with its value, what stands in brackets.
_CODE = re.compile(
    r"“[^”]*”|`[^`]*`|(?:quadrag|iconv|pip|git) [a-z-][^，。；：、（）\u4e00-\u9fff]*"
    rf"|--[\w-]+[ =]{_SIGN}|[\w.\[]*\w[=(]{_SIGN}|\{{[^{{}}]*\}}|\[[^\[\]]*\]|[\w.]*\([^()]*\)"
)
_BESIDE = re.compile(rf"(?<=[\u4e00-\u9fff]): |: (?=[\u4e00-\u9fff]|{_SIGN})")
_REST_OF_LIST = re.compile(r"(?:、|, )\.\.\.(?![\w.])")


def punctuate(ours: str, quoted: list[str], comma: str) -> str:
    """Return a Chinese text with the signs of its language between names and around what is quoted, but in code."""
    turned: set[str] = set()  # signs of what stands in Chinese quotes

    def quote(found: re.Match[str]) -> str:
        at = ord(found[1]) - ASIDE
        if at < len(quoted) and quoted[at][0] in "'\"":
            quoted[at] = "“{}”".format(quoted[at][1:-1].replace("\\'", "'"))
            turned.add(found[1])
            return found[1]
        return found[0]

    said, last = "", 0
    for code in [*_CODE.finditer(ours), None]:
        part = ours[last : code.start() if code else len(ours)]
        part = part.replace(", ", comma).replace("; ", "；")
        part = re.sub(f" ?({_SIGN}) ?", quote, _BESIDE.sub("：", _REST_OF_LIST.sub("……", part)))
        said += part
        if code:
            before = said.rstrip(" ")[-1:]
            aside = code[0][0] == "(" and (before in turned or said.endswith(" "))
            wide = aside and (before in turned or _HAN.search(before + code[0]))
            said = f"{said.rstrip(' ')}（{code[0][1:-1]}）" if wide else said + code[0]
        last = code.end() if code else last
    return said


def meet(before: str, after: str) -> str:
    """Join two texts: a blank between Chinese and other letters, none within Chinese, or beside a mark of it."""
    left, right = before.rstrip(" "), after.lstrip(" ")
    if not left or not right:
        return before + after
    sides = left[-1], right[0]
    han = [bool(_HAN.match(side)) for side in sides]
    if all(han) or any(side in _MARKS for side in sides):
        return left + right
    return f"{left} {right}" if any(han) and sides[han[0]] not in "()[]*," else before + after
