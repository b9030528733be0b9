"""Names are those of the folders; another one is answered with the nearest."""

import pytest

from quadrag import catalogue
from quadrag.errors import QuadragError


@pytest.mark.parametrize("name", ["crud", "crud_rag2", "", "rbg", "cräg", "CRUD-RAG"])
def test_another_name_is_refused(name):
    with pytest.raises(QuadragError, match="unknown benchmark"):
        catalogue.benchmark_name(name)
