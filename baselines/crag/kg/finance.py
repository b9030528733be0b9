"""The finance domain: company names from CSV, and one SqliteDict for each kind of figures, by ticker.

The snapshots end about 2024-02-28; keys of histories are ``YYYY-MM-DD HH:MM:SS EST``. Nothing here looks at dates:
hiding what lies after a question's time is `quadrag.baselines.crag.kg.clock`'s.
"""

import csv
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from . import restricted_pickle
from .store import Part, Store, fill, index_in_order, key


def _companies(db: sqlite3.Connection, paths: list[Path]) -> None:
    # Homonyms stay, and are found as often as they stand there.
    db.execute("CREATE TABLE company (n INTEGER PRIMARY KEY, name NOT NULL, symbol)")
    for path in paths:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            # Text as it stands: `NA` is a ticker, and an empty one is none.
            rows = ((key(row["Name"]), key(row["Symbol"]) or None) for row in csv.DictReader(lines))
            db.executemany("INSERT INTO company VALUES ((SELECT ifnull(max(n) + 1, 0) FROM company), ?, ?)", rows)
    db.execute("CREATE INDEX company_name ON company (name)")
    index_in_order(db, "company")


def _load_figures(table: str, db: sqlite3.Connection, paths: list[Path]) -> None:
    rows = ((ticker, None, value) for path in paths for ticker, value in restricted_pickle.read_stored(path))
    fill(db, table, rows)


PARTS = (
    Part("company", ("finance/company_name.dict",), _companies),
    Part("price", ("finance/finance_price.sqlite",), partial(_load_figures, "price")),
    Part("detailed", ("finance/finance_detailed_price.sqlite",), partial(_load_figures, "detailed")),
    Part("dividend", ("finance/finance_dividend.sqlite",), partial(_load_figures, "dividend")),
    Part("marketcap", ("finance/finance_marketcap.sqlite",), partial(_load_figures, "marketcap")),
    Part("info", ("finance/finance_info.sqlite",), partial(_load_figures, "info")),
)


class Finances(Store):
    """The nine functions of the finance domain; an unknown ticker or field gives None."""

    def finance_get_company_name(self, query: str) -> list[str]:
        """Return the at most ten company names nearest to a name, best first, homonyms repeated."""
        statement = "name FROM {} WHERE n = ?"
        return [self.rows("company", statement, number)[0][0] for number in self.search("company", query)]

    def finance_get_ticker_by_name(self, query: str) -> str | None:
        """Return the ticker of an exact company name; the last row of a repeated name wins."""
        rows = self.rows("company", "symbol FROM {} WHERE name = ? ORDER BY n DESC LIMIT 1", query)
        return rows[0][0] if rows else None

    def finance_get_price_history(self, query: str) -> Any:
        """Return a ticker's daily prices of a year: date to Open, High, Low, Close, Volume."""
        return self.get_named("price", query)

    def finance_get_detailed_price_history(self, query: str) -> Any:
        """Return a ticker's prices by the minute over the last days."""
        return self.get_named("detailed", query)

    def finance_get_dividends_history(self, query: str) -> Any:
        """Return a ticker's dividends: date to amount."""
        return self.get_named("dividend", query)

    def finance_get_market_capitalization(self, query: str) -> Any:
        """Return a ticker's market capitalisation."""
        return self.get_named("marketcap", query)

    def finance_get_eps(self, query: str) -> Any:
        """Return a ticker's earnings per share, the field ``forwardEps`` of its info."""
        return self._figure(query, "forwardEps")

    def finance_get_pe_ratio(self, query: str) -> Any:
        """Return a ticker's price to earnings, the field ``forwardPE`` of its info."""
        return self._figure(query, "forwardPE")

    def finance_get_info(self, query: str) -> Any:
        """Return all the fields known of a ticker."""
        return self.get_named("info", query)

    def _figure(self, ticker: str, field: str) -> Any:
        info = self.get_named("info", ticker)
        return info.get(field) if isinstance(info, dict) else None
