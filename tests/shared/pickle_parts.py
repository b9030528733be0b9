"""Opcodes of pickles, written by hand."""

from __future__ import annotations


def text(value: str) -> bytes:
    """A short text."""
    raw = value.encode()
    return b"\x8c" + bytes([len(raw)]) + raw


def stack_global(module: str, name: str) -> bytes:
    """A class or function by its module and name."""
    return text(module) + text(name) + b"\x93"
