"""A camera on a network, of which a test decides when it sends what."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class CameraOnTheNet:
    """Sends as many pictures as it is told to, as cameras on a network do, and can be unplugged."""

    def __init__(self, picture: Callable[[int], bytes]) -> None:
        self.picture = picture
        self.told = threading.Condition()
        self.n_told, self.n_sent, self.unplugged = 0, 0, False

    def tell(self, n_frames: int) -> None:
        """Send so many more, and return when they have left."""
        with self.told:
            self.n_told += n_frames
            self.told.notify_all()
            assert self.told.wait_for(lambda: self.n_sent == self.n_told, timeout=30)

    def unplug(self) -> None:
        with self.told:
            self.unplugged = True
            self.told.notify_all()

    def send(self, file: Any) -> None:
        while True:
            with self.told:
                self.told.wait_for(lambda: self.unplugged or self.n_sent < self.n_told)
                if self.n_sent == self.n_told:
                    return
                picture = self.picture(self.n_sent + 1)
                head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}"
                file.write(head.encode() + b"\r\n\r\n" + picture + b"\r\n")
                file.flush()
                self.n_sent += 1
                self.told.notify_all()


@contextmanager
def served(camera: CameraOnTheNet) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
            self.end_headers()
            camera.send(self.wfile)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/camera.mjpg"
        finally:
            camera.unplug()
            server.shutdown()
            thread.join()
