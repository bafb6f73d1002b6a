"""The smallest program with the client: an event is written, and read."""

from aiopravega import StreamCutRange
from aiopravega.blocking import PravegaClient

with PravegaClient() as client:
    client.create_scope("smallest")
    client.create_stream("smallest/visits")
    start = client.tail("smallest/visits")
    with client.writer("smallest/visits") as writer:
        writer.write(b"a visit")
    events = [event.data for event in client.read(StreamCutRange(start, client.tail("smallest/visits")))]
assert events == [b"a visit"], events
