"""The formats of events, over whole blocks: Arrow in, Arrow out.

A block of events becomes columns, and columns become a block of events, without a step of Python for each event. Only
this package and `aiopravega.schema.avro.columns` need Arrow, which comes with the extra `arrow`; neither knows streams
or hosts. Descriptors of Protobuf are of use without Arrow, too.
"""
