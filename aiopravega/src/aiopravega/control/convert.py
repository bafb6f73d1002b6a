"""Between the controller's messages and this package's types."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from uuid import UUID

from aiopravega.control.model import KeyRange
from aiopravega.control.policies import (
    MILLISECOND,
    RetentionPolicy,
    RetentionType,
    ScalingPolicy,
    ScalingType,
    StreamConfiguration,
)
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.status import status_name
from aiopravega.names import SegmentId, StreamName

_HALF = 64
_HALF_MASK = (1 << _HALF) - 1
_SIGN = 1 << (_HALF - 1)


def stream_info(stream: StreamName, access: str = "NONE") -> pb.StreamInfo:
    """A stream's name; `access` NONE asks for no token, so that an account with the right to read only is accepted."""
    return pb.StreamInfo(scope=stream.scope, stream=stream.stream, accessOperation=access)


def segment_id(segment: SegmentId) -> pb.SegmentId:
    """One segment of a stream or table."""
    return pb.SegmentId(streamInfo=stream_info(segment.stream), segmentId=segment.to_int())


def positions(cut: Mapping[SegmentId, int]) -> dict[int, int]:
    """Offsets by the 64-bit ids of their segments."""
    return {segment.to_int(): offset for segment, offset in cut.items()}


def key_ranges(stream: StreamName, ranges: Iterable[pb.SegmentRange]) -> list[KeyRange]:
    """Segments with their parts of the key space, in the order of these."""
    segments = [KeyRange(SegmentId.from_int(stream, r.segmentId.segmentId), r.minKey, r.maxKey) for r in ranges]
    return sorted(segments, key=lambda entry: entry.low)


def stream_config(stream: StreamName, configuration: StreamConfiguration) -> pb.StreamConfig:
    """The settings of a stream as the controller takes them."""
    scaling, retention = configuration.scaling, configuration.retention
    config = pb.StreamConfig(
        streamInfo=stream_info(stream),
        scalingPolicy=pb.ScalingPolicy(
            scaleType=scaling.kind.value,
            targetRate=scaling.target_rate,
            scaleFactor=scaling.factor,
            minNumSegments=scaling.min_segments,
        ),
        tags=pb.Tags(tag=configuration.tags),
        timestampAggregationTimeout=configuration.timestamp_aggregation_timeout // MILLISECOND,
        rolloverSizeBytes=configuration.rollover_bytes,
    )
    if retention.kind is not RetentionType.NONE:
        config.retentionPolicy.CopyFrom(
            pb.RetentionPolicy(
                retentionType=retention.kind.value, retentionParam=retention.minimum, retentionMax=retention.maximum
            )
        )
    return config


def stream_configuration(config: pb.StreamConfig) -> StreamConfiguration:
    """The settings of a stream as the controller gives them."""
    scaling, retention = config.scalingPolicy, config.retentionPolicy
    return StreamConfiguration(
        ScalingPolicy(
            ScalingType(status_name(pb.ScalingPolicy.ScalingPolicyType, scaling.scaleType)),
            scaling.targetRate,
            scaling.scaleFactor,
            scaling.minNumSegments,
        ),
        RetentionPolicy(
            RetentionType(status_name(pb.RetentionPolicy.RetentionPolicyType, retention.retentionType)),
            retention.retentionParam,
            retention.retentionMax,
        ),
        tuple(config.tags.tag),
        timedelta(milliseconds=config.timestampAggregationTimeout),
        config.rolloverSizeBytes,
    )


def txn_id(txn: UUID) -> pb.TxnId:
    """A transaction's id as two signed halves."""
    return pb.TxnId(highBits=_signed(txn.int >> _HALF), lowBits=_signed(txn.int & _HALF_MASK))


def uuid_of(txn: pb.TxnId) -> UUID:
    """A transaction's id from two signed halves."""
    return UUID(int=(txn.highBits & _HALF_MASK) << _HALF | (txn.lowBits & _HALF_MASK))


def _signed(half: int) -> int:
    return half - (1 << _HALF) if half & _SIGN else half
