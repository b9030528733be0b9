"""Personal data in a document, found by rule: such a document is let go.

Numbers of identity cards and bank cards are known by their check digits, telephones by the numbering plans
(phonenumbers), mail and postal addresses by their form. A postal address counts with a flat or, in English, with its
town: the street and number alone are mostly an office's. Numbers that whole services answer (400, 800) do not count.
Names of private persons no rule can tell from others; the prompts tell the model to leave them out.
"""

import re
from datetime import date

from .steps import Rejected, Row

_NARROW = {0xFF01 + at: 0x21 + at for at in range(94)}  # full width to half
_ALONE = r"(?<![0-9A-Za-z/=_.-])", r"(?![0-9A-Za-z/_-])"  # neither part of a longer number nor of a web address
_IDENTITY = re.compile(rf"{_ALONE[0]}[1-9]\d{{16}}[\dXx]{_ALONE[1]}")
_WEIGHTS = [2 ** (17 - at) % 11 for at in range(17)]
# Of UnionPay, Visa, Mastercard, American Express, JCB and Discover; in groups of four, or in none.
_CARD = re.compile(rf"{_ALONE[0]}(?:\d{{4}}([ -]?)(?:\d{{4}}\1){{2}}\d{{4}}(?:\1\d{{1,3}})?|3[47]\d{{13}}){_ALONE[1]}")
_ISSUERS = re.compile(r"62\d{14,17}|4\d{15}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|35\d{14}|6(?:011|5\d\d)\d{12}")
_MAIL = re.compile(r"[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}")
_CHINESE_ADDRESS = re.compile(
    r"[\u4e00-\u9fff]{2,12}(?:\d{1,5}(?:号院?|弄)[\u4e00-\u9fff]{0,8})?\d{1,4}(?:号楼|栋|幢|座|单元)(?:\d{1,2}单元)?\d{1,5}(?:室|号)"
    r"|[\u4e00-\u9fff]{1,12}(?:路|街|巷|道|村|胡同)\d{1,5}(?:号|弄)[\u4e00-\u9fff\d-]{0,12}?\d{1,5}室"
)
_STREETS = "Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Terrace|Close"
_ENGLISH_ADDRESS = re.compile(
    rf"\b\d{{1,5}}[A-Z]? (?:[A-Z][a-z]+\.? ){{1,3}}(?:{_STREETS})\b\.?(?:,? (?:Apt|Flat|Unit|Suite|#)\.? ?\w+)?,? "
    r"(?:[A-Z][a-z]+ ?){1,3},? (?:[A-Z]{2}(?:,? \d{5}(?:-\d{4})?)?|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2})\b"
)
_AMOUNT = re.compile(r"\s*(?:[万亿千百]|元|美元|人|%|％)")


def find_personal(text: str, language: str) -> list[str]:
    """Return the kinds of personal data in a text, in any width of characters: one for each place."""
    plain = text.translate(_NARROW)
    kinds = ["identity number" for match in _IDENTITY.finditer(plain) if _is_identity(match.group())]
    kinds += ["bank card" for match in _CARD.finditer(plain) if _is_card(match.group())]
    kinds += ["telephone"] * _count_telephones(plain, language)
    kinds += ["mail address" for _ in _MAIL.finditer(plain)]
    for form in (_CHINESE_ADDRESS, _ENGLISH_ADDRESS):
        kinds += ["postal address" for _ in form.finditer(plain)]
    return kinds


def reject_personal_data(row: Row) -> list[Row]:
    """Let a document go that holds personal data."""
    if kinds := find_personal(f"{row['title']}\n{row['text']}", row["language"]):
        raise Rejected(" and ".join(sorted(set(kinds))))
    return [row]


def _is_identity(number: str) -> bool:
    try:
        born = date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    check = sum(int(digit) * weight for digit, weight in zip(number[:17], _WEIGHTS, strict=True)) % 11
    return born.year > 1880 and "10X98765432"[check] == number[17].upper()


def _is_card(written: str) -> bool:
    digits = [int(digit) for digit in written if digit.isdigit()]
    doubled = [digit if at % 2 == 0 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0 and _ISSUERS.fullmatch("".join(map(str, digits))) is not None


def _count_telephones(text: str, language: str) -> int:
    import phonenumbers
    from phonenumbers import Leniency, PhoneNumberMatcher, PhoneNumberType

    chinese = language == "zh"
    kinds = (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE, PhoneNumberType.FIXED_LINE_OR_MOBILE)
    leniency = Leniency.VALID if chinese else Leniency.STRICT_GROUPING
    count = 0
    for match in PhoneNumberMatcher(text, "CN" if chinese else "US", leniency):
        kind = phonenumbers.number_type(match.number)
        digits = "".join(filter(str.isdigit, match.raw_string))
        # Dialled with 0 or a country's code before it, mobiles in China as they are; else it is an amount or a code.
        if chinese:
            dialled = kind == PhoneNumberType.MOBILE or digits.startswith(("0", "86")) or "+" in match.raw_string
        else:
            dialled = not match.raw_string.isdigit()
        count += kind in kinds and dialled and not _AMOUNT.match(text, match.end)
    return count
