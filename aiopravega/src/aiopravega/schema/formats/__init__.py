"""The formats of events, over whole blocks: Arrow in, Arrow out.

A block of events becomes columns, and columns become a block of events, without a step of Python for each event. This
package alone needs Arrow, which comes with the extra `arrow`; it knows neither streams nor hosts. Schemas of Avro and
descriptors of Protobuf are of use without Arrow, too.
"""
