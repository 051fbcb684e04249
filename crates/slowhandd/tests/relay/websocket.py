# A page that sends a message over a WebSocket and reports the length of the echo, and the server of both.
# Prints a line once the report has come. Arguments: address, port, "tcp" or "mptcp".
import base64
import hashlib
import http.server
import socket
import sys

PAGE = b"""<script>
const socket = new WebSocket('ws://' + location.host + '/socket');
socket.onopen = () => socket.send('x'.repeat(100000));
socket.onmessage = (message) => fetch('/echoed?' + message.data.length);
</script>"""
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def size(length):
    # RFC 6455: the shortest form.
    if length < 126:
        return bytes([length])
    if length < 1 << 16:
        return bytes([126]) + length.to_bytes(2, "big")
    return bytes([127]) + length.to_bytes(8, "big")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.headers.get("Upgrade", "").lower() == "websocket":
            return self.echo()
        if self.path.startswith("/echoed?"):
            print(self.path, flush=True)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def echo(self):
        key = self.headers["Sec-WebSocket-Key"] + GUID
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept)
        self.end_headers()
        self.close_connection = True
        while head := self.rfile.read(2):
            length = head[1] & 127
            longer = {126: 2, 127: 8}.get(length)
            if longer:
                length = int.from_bytes(self.rfile.read(longer), "big")
            mask, masked = self.rfile.read(4), self.rfile.read(length)
            data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(masked))
            # RFC 6455: a server's frames are not masked.
            self.wfile.write(bytes([head[0]]) + size(length) + data)
            if head[0] & 15 == 8:
                return

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, address, protocol):
        super().__init__(address, Handler, bind_and_activate=False)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(address)
        self.server_activate()

    def server_bind(self):
        pass


protocols = {"tcp": socket.IPPROTO_TCP, "mptcp": 262}
Server((sys.argv[1], int(sys.argv[2])), protocols[sys.argv[3]]).serve_forever()
