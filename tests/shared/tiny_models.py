"""Encoders and cross-encoders made on the spot: random weights, one layer, a token for each letter."""

from pathlib import Path


def make_reranker(folder: Path, letters: str, *, labels: int = 1, head: bool = True) -> Path:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted(set(letters))]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=96,
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=96,
        num_labels=labels,
        initializer_range=1.0,  # wide, so that scores are far apart, beyond what a sigmoid can tell
    )
    (BertForSequenceClassification if head else BertModel)(config).save_pretrained(folder)
    return folder


def make_encoder(folder: Path, letters: str) -> Path:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    body = modules.Transformer(str(make_reranker(folder.with_name(f"{folder.name}-body"), letters, head=False)))
    pooling = modules.Pooling(body.get_embedding_dimension(), "mean")
    SentenceTransformer(modules=[body, pooling], device="cpu").save(str(folder))
    return folder
