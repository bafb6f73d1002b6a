"""The head of a `SegmentRead` frame, for readers that receive its data straight into their own buffers.

A frame is type and length, then this head, then the data, then the request id. One head fits all answers about one
segment, so that it is laid out once.
"""

import struct

from aiopravega.errors import ProtocolError


class SegmentReadHead:
    """The fields before the data in the answers about one segment; `size` is in bytes, without type and length."""

    def __init__(self, segment: str) -> None:
        self._segment = segment.encode()
        # Name, offset, at tail, end of segment, length of the data.
        self._layout = struct.Struct(f">H{len(self._segment)}sq??i")
        self.size = self._layout.size

    def parse(self, head: bytes | bytearray | memoryview, frame_length: int) -> tuple[int, int, bool]:
        """Offset in the segment, number of bytes of data that follow, and whether the segment ends with them.

        Raises:
            ProtocolError: the head is of another segment, or promises more data than the frame has.
        """
        name_length, name, offset, _, end_of_segment, data_length = self._layout.unpack_from(head)
        if name_length != len(self._segment) or name != self._segment:
            raise ProtocolError(f"asked for bytes of {self._segment.decode()}, but got bytes of another segment")
        if not 0 <= data_length <= frame_length - self.size:
            raise ProtocolError(f"a frame of {frame_length} bytes promises {data_length} bytes of a segment")
        return offset, data_length, end_of_segment
