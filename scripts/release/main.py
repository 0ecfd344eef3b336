"""The verbs of release.sh."""

import sys

from settings import Refused, Settings


def main(words):
    verb, *rest = words or ["help"]
    if verb == "fetch" and not rest:
        import fetch

        fetch.fetch(Settings())
    elif verb == "build" and len(rest) <= 1:
        import build

        build.build(Settings(*rest))
    elif verb == "check" and len(rest) <= 1:
        import build

        build.check(Settings(*rest))
    elif verb == "crates" and rest in ([], ["upload"]):
        import crates

        crates.publish(Settings(), crates.Upload(bool(rest)))
    else:
        print("usage: ./release.sh fetch | build [VERSION] | check [VERSION] | crates [upload]", file=sys.stderr)
        return 2
    return 0


try:
    sys.exit(main(sys.argv[1:]))
except Refused as refused:
    print(f"release: {refused}", file=sys.stderr)
    sys.exit(1)
