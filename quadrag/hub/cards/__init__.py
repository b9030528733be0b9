"""Dataset cards: what of them is rendered from the builders and the records in ``hub_cards``.

Cards of what is exported or pushed are made from these by `quadrag.hub.export`.
"""
