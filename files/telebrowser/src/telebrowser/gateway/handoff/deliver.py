"""``python -m telebrowser.gateway.handoff.deliver``: sends one message by Apprise, in a process of its own.

Importing its services takes seconds and tens of megabytes, which the gateway shall not pay, and a service that hangs can be
ended with its process. Standard input is ``{"urls": {name: address}, "title", "body"}``; standard output ``{name: trouble}``, where
no trouble is an empty text. The addresses are secrets and stand nowhere else.
"""

from __future__ import annotations

import json
import logging
import sys
from concurrent.futures import ThreadPoolExecutor

BAD_ADDRESS = "Apprise does not know such an address"
AT_ONCE = 8


def main() -> int:
    """Send, and say what became of each address."""
    order = json.load(sys.stdin)
    import apprise

    # It would write the addresses, and with them passwords.
    logging.getLogger("apprise").setLevel(logging.CRITICAL)

    def send(url: str) -> str:
        receiver = apprise.Apprise()
        if not receiver.add(url):
            return BAD_ADDRESS
        try:
            return "" if receiver.notify(title=order["title"], body=order["body"]) else "it was not accepted"
        except Exception as error:
            return f"it failed ({type(error).__name__})"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        troubles = dict(zip(order["urls"], pool.map(send, order["urls"].values()), strict=True))
    json.dump(troubles, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
