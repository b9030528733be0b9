"""Build and serve CRAG's mock knowledge graph.

Examples:
    quadrag kg build CRAG/mock_api/cragkg kg.sqlite
    quadrag kg serve kg.sqlite --port 8000
"""

from __future__ import annotations

import argparse

from quadrag.commands.shared import options
from quadrag.printing import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="build|serve")
    build = actions.add_parser("build", help="turn upstream's files into one SQLite file; pickles are never unpickled")
    build.add_argument("source", metavar="SRC", help="folder that holds finance, movie, music, open, sports (or some)")
    build.add_argument("target", metavar="FILE", help="the graph, kg.sqlite say; an older one is replaced")
    serve = actions.add_parser("serve", help="answer upstream's 38 routes over HTTP; needs the extra serve")
    serve.add_argument("graph", metavar="FILE", help="the graph that `quadrag kg build` made")
    serve.add_argument("--host", default="127.0.0.1", help="(default: 127.0.0.1)")
    serve.add_argument("--port", type=options.at_least(0), default=8000, help="(default: 8000)")
    serve.add_argument("--query-time", metavar="T", help="hide what is later: '03/10/2024, 23:19:21 PT'")


def run(arguments: argparse.Namespace) -> None:
    if arguments.action == "serve":
        from ..kg.server import serve

        serve(arguments.graph, arguments.host, arguments.port, arguments.query_time)
        return
    from quadrag.printing import Progress

    from ..kg.build import build

    with Progress("reading", 1) as progress:
        tables, lacking = build(arguments.source, arguments.target, progress.update)
    for name, rows in tables.items():
        write(f"{name}: {rows:,}")
    if lacking:
        write(f"not there, and so without its functions: {', '.join(lacking)}")
    write(f"\n{arguments.target}")
