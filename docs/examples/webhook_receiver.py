"""Keeps each digest of Paper Monitor once, in digests.db.

python3 -m venv venv
venv/bin/pip install standardwebhooks
SECRET=whsec_... venv/bin/python webhook_receiver.py
"""

import os
import sqlite3
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

SIGNED = Webhook(os.environ["SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            SIGNED.verify(body, dict(self.headers))
        except WebhookVerificationError:
            self.send_error(401)
            return
        with closing(sqlite3.connect("digests.db", isolation_level=None)) as store:
            store.execute("CREATE TABLE IF NOT EXISTS digest (id TEXT PRIMARY KEY, body TEXT)")
            new = self.headers["webhook-id"], body.decode()
            store.execute("INSERT OR IGNORE INTO digest VALUES (?, ?)", new)
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 8000), Receiver).serve_forever()
