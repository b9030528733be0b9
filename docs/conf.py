"""Builds the pages of this folder into a site, by `make docs`. The site loads nothing from the network.

Search finds Chinese words of any length: index and query are cut into pairs of characters, since a dictionary would cut
a query in another way than the page.
"""

import re
from typing import Any

from sphinx.search.en import SearchEnglish

project = "quadrag"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "quadrag"
html_copy_source = False
html_show_copyright = False
html_search_language = "en-zh"


class SearchBoth(SearchEnglish):
    """English by words, as Sphinx has it, and Chinese by pairs of characters."""

    lang = "en-zh"
    # What `split` does, for a query.
    js_splitter_code = r"""
var splitQuery = (query) =>
  (query.match(/[\u4e00-\u9fff]+|(?:(?![\u4e00-\u9fff])[\p{L}\p{N}_])+/gu) || []).flatMap((run) =>
    /^[\u4e00-\u9fff]{2}/.test(run) ? [...run.slice(1)].map((sign, place) => run[place] + sign) : [run]);
"""

    def split(self, input: str) -> list[str]:
        """Cut a text into words and pairs of characters."""
        words: list[str] = []
        for run in re.findall(r"[\u4e00-\u9fff]+|(?:(?![\u4e00-\u9fff])\w)+", input):
            chinese = "\u4e00" <= run[0] <= "\u9fff" and len(run) > 1
            words += [run[place : place + 2] for place in range(len(run) - 1)] if chinese else [run]
        return words


def setup(app: Any) -> None:
    """Add the language of the search."""
    app.add_search_language(SearchBoth)
