"""Personal data: what is found by rule, what only looks like it, and what is left to review."""

import json
from pathlib import Path

import pytest
from chat_server import ChatServer
from maker_model import Knowing

from quadrag import cli
from quadrag.construct.personal import find_personal, without_personal_data


@pytest.mark.parametrize(
    ("language", "text", "kind"),
    [
        ("zh", "身份证号：11010519491231002X，住址不详", "identity number"),
        ("zh", "身份证号：１１０１０５１９４９１２３１００２Ｘ", "identity number"),
        ("zh", "账号6222 0202 0001 0001 234，户名略", "bank card"),
        ("en", "She paid with 4111-1111-1111-1111 that day.", "bank card"),
        ("en", "An old card, 378282246310005, was found.", "bank card"),
        ("zh", "请联系13763996499周先生", "telephone"),
        ("zh", "电话：0797-5626110", "telephone"),
        ("zh", "使馆电话：+82-2-755-0572驻釜山", "telephone"),
        ("en", "Call (202) 312-0815 after noon.", "telephone"),
        ("en", "Call +44 20 7946 0018 after noon.", "telephone"),
        ("zh", "请发到zhang.san@example.com.cn即可", "mail address"),
        ("zh", "住在海淀区学院路12号院3号楼2单元501室", "postal address"),
        ("zh", "家住阳光花园5栋2单元1203室，昨日", "postal address"),
        ("zh", "位于浦东新区浦电路438号1201室", "postal address"),
        ("en", "He lives at 12 Elm Street, Springfield, IL 62704 with a dog.", "postal address"),
        ("en", "A flat at 7 Baker Street, London, NW1 6XE was sold.", "postal address"),
    ],
)
def test_personal_data_are_found(language: str, text: str, kind: str) -> None:
    assert [one.kind for one in find_personal(text, language)] == [kind]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "共投入2023120815万元"),
        ("zh", "累计13763996499元"),
        ("zh", "证号110105194912310021"),  # another check digit
        ("zh", "编号110105194913310028"),  # no such month
        ("zh", "订单6222020200010001235"),  # fails Luhn's check
        ("zh", "流水号9411111111111111"),  # no issuer's
        ("zh", "见content/646741/63/12911025.html"),
        ("zh", "[ 2023-07-28 16：40 ] 发布"),
        ("zh", "股票代码600519、000858，2023年08月15日10:20:30"),
        ("zh", "全国客服热线4006889194"),
        ("zh", "改造完成30栋704户，位于人民路12号"),
        ("zh", "据@央视新闻报道，比分3@2"),
        ("en", "The sum of 2023120815 was paid on 2023-07-28 16:40."),
        ("en", "In 1999 Main Street, the novel, was read; 12 Years a Slave won 3 Oscars."),
        ("en", "On 5 March Avenue Q opened at 10 Downing Street."),
    ],
)
def test_what_only_looks_like_it_is_not(language: str, text: str) -> None:
    assert find_personal(text, language) == []


def test_the_list_to_review_names_places_and_hides_what_stands_there() -> None:
    text = "周警官13763996499、刘警官17870591095，邮箱a.b@example.com。"
    (found,) = without_personal_data({"id": "1", "title": "", "text": text, "language": "zh"})
    assert found["dropped"] == "mail address and telephone"
    assert [one["kind"] for one in found["found"]] == ["telephone", "telephone", "mail address"]
    assert found["found"][0]["place"] == "周警官13*******99、刘警官17******"
    assert not any(number in json.dumps(found) for number in ("376399649", "787059109", "b@example.c"))


def test_a_document_with_personal_data_is_in_no_file_of_the_dataset(documents: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    first, *others = (documents / "news.jsonl").read_text(encoding="utf-8").splitlines()
    row = json.loads(first)
    row["text"] += "联系人电话13763996499。"
    (folder / "a.jsonl").write_text("\n".join([json.dumps(row), *others]), encoding="utf-8")
    out = tmp_path / "out"
    with ChatServer(text=Knowing()) as server:
        asked = ["--llm", f"{server.url}#m", "--ledger", str(tmp_path / "ledger.sqlite"), "--limit", "20"]
        assert cli.main(["construct", "crud_rag", "--documents", str(folder), "--out", str(out), *asked]) == 0
    kept = json.loads(others[0])["text"][40:80]
    assert kept in (out / "stages/03-fitting.jsonl").read_text(encoding="utf-8")
    for path in (one for one in out.rglob("*") if one.is_file()):
        assert row["text"][40:80] not in path.read_text(encoding="utf-8")
    (listed,) = [
        line
        for line in map(json.loads, (out / "stages/01-personal.jsonl").read_text(encoding="utf-8").splitlines())
        if "dropped" in line
    ]
    assert (listed["id"], listed["dropped"]) == (row["id"], "telephone")
