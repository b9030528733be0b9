"""People grade what was made: items, their record, a page, sheets, what the grades come to, the human split."""
