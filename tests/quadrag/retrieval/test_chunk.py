"""Chunks: worked by hand, and what holds for any text, size and overlap."""

import json
import sys
from bisect import bisect_left
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quadrag.errors import QuadragError
from quadrag.retrieval.chunk import Chunking, head

EXAMPLES = yaml.safe_load(Path(__file__).with_name("chunk_examples.yaml").read_text(encoding="utf-8"))

# Chinese and English, sentence ends, blanks, closing marks, a character outside the basic plane.
TEXTS = st.text(alphabet=st.sampled_from("今天北京下雨。！？；;?!. \n\r\t”）a1𠮷x"), max_size=80) | st.text(max_size=40)
SIZES = st.integers(1, 20)
OVERLAPS = st.integers(0, 90)


def pieces(text, **options):
    return [text[start:end] for start, end in Chunking(**options).spans(text)]


@pytest.mark.parametrize(("text", "options", "expected"), EXAMPLES)
def test_worked_examples(text, options, expected):
    assert pieces(text, **options) == expected


def check(text, spans, size, overlap, length):
    """What holds for all spans; `length` gives the units between two places."""
    assert (spans == []) == (text == "")
    if not spans:
        return
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    for start, end in spans:
        assert start < end
        assert length(start, end) <= size
    for (start, end), (later, further) in pairwise(spans):
        assert start < later <= end < further
        assert length(later, end) <= size * overlap // 100


@given(TEXTS, SIZES, OVERLAPS)
def test_spans_cover_in_order_within_size_and_overlap(text, size, overlap):
    spans = Chunking(size, overlap).spans(text)
    check(text, spans, size, overlap, lambda start, end: end - start)


@given(
    st.lists(st.text("天地人", min_size=1, max_size=6).map(lambda words: words + "。"), max_size=20), st.integers(7, 25)
)
def test_sentences_that_fit_are_never_cut_and_chunks_are_full(sentences, size):
    chunks = pieces("".join(sentences), size=size)
    assert all(chunk.endswith("。") for chunk in chunks)
    for chunk, following in pairwise(chunks):
        assert len(chunk) + following.index("。") + 1 > size


@pytest.fixture(scope="module")
def tokenizer_file(tmp_path_factory):
    """A byte-level tokenizer, trained on the spot: a Chinese character it has not seen is three tokens."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed (it comes with transformers)")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["今天北京下雨。今天下雨。", "the rain in the city. "] * 20, trainer)
    # What a published tokenizer.json may hold, and must not shorten a document.
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=64)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def tokens(path, text):
    """Return the start of every token of the whole text, by tokenizers itself."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return [start for start, _ in tokenizer.encode(text, add_special_tokens=False).offsets]


def test_tokens_hold_for_any_text(tokenizer_file):
    @given(TEXTS, st.integers(4, 20), OVERLAPS)
    def holds(text, size, overlap):
        spans = Chunking(size, overlap, str(tokenizer_file)).spans(text)
        clean = text.encode("utf-8", "replace").decode()
        starts = tokens(tokenizer_file, clean)
        check(text, spans, size, overlap, lambda a, b: bisect_left(starts, b) - bisect_left(starts, a))

    holds()


def test_the_head_of_a_text_and_what_it_counts(tokenizer_file):
    cases = [("abc", 2, ("ab", 2)), ("abc", 5, ("abc", 3)), ("abc", 0, ("", 0))]
    assert [head(text, size) for text, size, _ in cases] == [expected for *_, expected in cases]
    cases = [("龘龘", 2, ("", 0)), ("龘龘", 5, ("龘", 3)), ("龘龘", 9, ("龘龘", 6))]
    assert [head(text, size, str(tokenizer_file)) for text, size, _ in cases] == [expected for *_, expected in cases]


def test_tokens_count_not_characters(tokenizer_file):
    text = "今天北京下雨。今天下雨。the rain in the city. " * 10
    chunking = Chunking(12, tokenizer=str(tokenizer_file))
    spans = chunking.spans(text)
    assert max(end - start for start, end in spans) > 12
    assert all(text[end - 1] in "。. " for _, end in spans)
    assert Chunking(12, tokenizer=str(tokenizer_file.parent)).spans(text) == spans
    assert len(tokens(tokenizer_file, "龘")) == 3, "more than fit are a chunk"
    assert pieces("龘龘", size=2, tokenizer=str(tokenizer_file)) == ["龘", "龘"]


def test_the_key_knows_the_tokenizer_by_content(tokenizer_file, tmp_path):
    copy = tmp_path / "tokenizer.json"
    copy.write_bytes(tokenizer_file.read_bytes())
    key = Chunking(tokenizer=str(tokenizer_file)).describe()
    assert Chunking(tokenizer=str(tmp_path)).describe() == key
    changed = json.loads(copy.read_text(encoding="utf-8"))
    changed["model"]["merges"].pop()
    other = tmp_path / "other.json"
    other.write_text(json.dumps(changed), encoding="utf-8")
    keys = [key, Chunking(tokenizer=str(other)).describe()]
    keys += [Chunking(**option).describe() for option in ({}, {"size": 64}, {"overlap": 10})]
    assert len({json.dumps(each) for each in keys}) == 5


def test_a_tokenizer_that_cannot_be_had_is_named(tmp_path, monkeypatch):
    pytest.importorskip("tokenizers", reason="tokenizers is not installed (it comes with transformers)")
    (tmp_path / "tokenizer.json").write_text("{}")
    for name in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(QuadragError, match=str(name)):
            Chunking(tokenizer=str(name)).spans("text")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(QuadragError, match=r"\.\[dense\]"):
        Chunking(tokenizer="no/such-tokenizer").spans("text")
