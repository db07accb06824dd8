# Stores each line of a file once, from Python, over kills of this program and the server. The number of a line is the
# sequence number of the producer; the server answers a line that it has without storing it again. The id of the producer is
# derived from the content of the file, so the lines of another file, or of a changed one, are stored too.
#
#   pip install durable-streams
#   python python-producer.py http://localhost:4437/orders orders.txt
import hashlib
import sys
import time

import httpx
from durable_streams import DurableStream, DurableStreamError, FetchError

url, path = sys.argv[1:]
number = 0
with open(path, "rb") as content:
    digest = hashlib.sha256(content.read()).hexdigest()
producer = {"Producer-Id": f"file {digest}", "Producer-Epoch": "0", "Producer-Seq": lambda: str(number)}


def repeat(call, *arguments):
    """Repeats a call that has no answer, and so an unknown outcome, or that the server cannot serve now."""
    while True:
        try:
            return call(*arguments)
        except httpx.TransportError:
            pass
        except (DurableStreamError, FetchError) as error:
            if error.status != 503:
                raise
        time.sleep(0.1)


with DurableStream(url, content_type="text/plain", headers=producer, batching=False) as stream, open(path) as lines:
    repeat(stream.create_stream)
    for number, line in enumerate(lines):
        repeat(stream.append, line)
        print(f"stored {number}", flush=True)
