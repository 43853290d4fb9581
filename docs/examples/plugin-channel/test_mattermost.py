import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from mattermost import Mattermost

from monitor.testing import ChannelContract


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()


class TestMattermost(ChannelContract):
    kind = Mattermost
    settings = {"webhook": "http://127.0.0.1:9/hooks/a"}

    @contextmanager
    def working(self, folder):
        with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield self.open(folder, webhook=f"http://127.0.0.1:{server.server_port}/hooks/a")
            server.shutdown()

    @contextmanager
    def failing(self, folder):
        yield self.open(folder)  # nothing listens on port 9
