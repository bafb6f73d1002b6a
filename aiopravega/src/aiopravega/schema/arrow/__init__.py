"""The kit for whole blocks of events: arrays of bytes, headers and codecs of a block, events that cannot be decoded.

It needs Arrow, which comes with the extra `arrow`, and knows no format, no stream and no host.
"""
