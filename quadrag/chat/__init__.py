"""Chat models behind an endpoint: the client, its ledger of replies, prices and budgets; no benchmark is known here."""
