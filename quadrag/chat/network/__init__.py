"""Calls on their way to servers: an event loop, concurrency and retries, single attempts, and what a server may do.

What of the chat client loads network code is here. It knows neither specs nor which replies count.
"""
