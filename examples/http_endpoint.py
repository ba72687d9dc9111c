#!/usr/bin/python3
"""http_endpoint.py MODEL [PORT]: answers POSTs of an array (.npy) with the network's answer, also as .npy:

    curl --data-binary @x.npy http://localhost:8080/ -o y.npy"""
import io
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import adaps


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            x = np.load(io.BytesIO(self.rfile.read(int(self.headers["Content-Length"]))), allow_pickle=False)
            file = io.BytesIO()
            np.save(file, self.server.session.run(x))
            status, body = 200, file.getvalue()
        except (adaps.Error, ValueError) as error:
            status, body = 503 if isinstance(error, adaps.AgentError) else 400, f"{error}\n".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port = int(sys.argv[2]) if len(sys.argv) == 3 else 8080
    with adaps.Session(sys.argv[1]) as session, ThreadingHTTPServer(("localhost", port), Handler) as server:
        server.session = session
        print(f"http://localhost:{server.server_port}/", flush=True)
        server.serve_forever()
