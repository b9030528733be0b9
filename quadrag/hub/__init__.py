"""The Hub: exported datasets, their cards, pushed repositories, results on models' pages; `push` opens the client."""
