"""The error tree: everything that this package raises on purpose derives from `PravegaError`.

A message says what was tried, on what, what came back and what to do about it. `retryable` says to a caller (a retry
loop, an Airflow task) whether the same call can succeed later without any change.
"""
# long because: all errors are one tree, which is read as one


class PravegaError(Exception):
    """The root of all errors."""

    retryable: bool = False


# --- what the caller asked for is wrong ---------------------------------------------------------------------


class ConfigurationError(PravegaError, ValueError):
    """A URI, option, credential setting or argument that cannot work, found before any work started."""


class InvalidStreamCutError(PravegaError, ValueError):
    """A StreamCut that is malformed, belongs to another stream, or does not fit the stream's segments."""


class InvalidRangeError(InvalidStreamCutError):
    """A range whose end lies before its start, or whose ends belong to two streams."""


class StreamMadeAgainError(InvalidStreamCutError):
    """A StreamCut of a stream that was deleted: another stream has its name now.

    `fact` says what happened to the stream, as a main clause.
    """

    def __init__(self, message: str, fact: str = "") -> None:
        super().__init__(message)
        self.fact = fact


class EventTooLargeError(PravegaError, ValueError):
    """An event has more bytes than its writer may send or its reader accepts (`max_event_bytes`): it was refused.

    For an event that was read, `at` is where it begins, in bytes from the beginning of what was read (for a segment,
    its offset), and `size` how many bytes it has.
    """

    def __init__(self, message: str, at: int = 0, size: int = 0) -> None:
        super().__init__(message)
        self.at = at
        self.size = size


# --- the server could not be talked to ----------------------------------------------------------------------


class PravegaConnectionError(PravegaError):
    """A connection was refused, reset or closed, or a server is not there (yet)."""

    retryable = True


class PravegaTimeoutError(PravegaConnectionError, TimeoutError):
    """No answer within the time limit."""


class WrongHostError(PravegaConnectionError):
    """The segment has moved to another segment store; ask the controller again."""


class ProtocolError(PravegaError):
    """The bytes of the other side are not the segment store's protocol."""


class ServerError(PravegaError):
    """The server reported an internal error."""

    retryable = True


# --- who may do what ----------------------------------------------------------------------------------------


class SecurityError(PravegaError):
    """The root of the errors of authentication, authorization and TLS."""


class AuthenticationError(SecurityError):
    """No credentials, or wrong ones."""


class PermissionDeniedError(SecurityError):
    """The credentials are valid, but do not allow this."""


class TokenExpiredError(SecurityError):
    """A delegation token expired; with a new token the call succeeds."""

    retryable = True


class TlsError(SecurityError):
    """The certificate of the server is not trusted, or does not contain the server's name."""


# --- things that are not there, or there already ------------------------------------------------------------


class NotFoundError(PravegaError, LookupError):
    """The root of the errors about something that does not exist."""


class ScopeNotFoundError(NotFoundError):
    """The scope does not exist."""


class StreamNotFoundError(NotFoundError):
    """The stream does not exist."""


class SegmentNotFoundError(NotFoundError):
    """The segment does not exist (any more): deleted, wholly truncated, or its transaction has ended."""


class SubscriberNotFoundError(NotFoundError):
    """The stream has no such subscriber."""


class ReaderGroupNotFoundError(NotFoundError):
    """The reader group does not exist."""


class TableNotFoundError(NotFoundError):
    """The key-value table does not exist."""


class GroupNotFoundError(NotFoundError):
    """The Schema Registry has no such group."""


class SchemaNotFoundError(NotFoundError):
    """A group of the Schema Registry has no such schema, version or encoding id."""


class AlreadyExistsError(PravegaError):
    """The root of the errors about something that exists already."""


class ScopeNotEmptyError(PravegaError):
    """A scope that still holds streams, tables or reader groups cannot be deleted."""


# --- states of a stream or of a reader group ----------------------------------------------------------------


class StreamSealedError(PravegaError):
    """The stream is sealed: it takes no more events."""


class StreamNotSealedError(PravegaError):
    """The stream must be sealed before it can be deleted."""


class SegmentSealedError(PravegaError):
    """The segment is sealed: a scaling replaced it, or its stream is sealed."""


class StreamTruncatedError(PravegaError):
    """The range begins before the stream's head: retention or a truncation removed the data."""


class ScalingError(PravegaError):
    """The controller refused a scaling: the key ranges leave a gap or overlap, or a segment is not current."""


class MalformedEventError(PravegaError):
    """The bytes at an offset are not an event: a cut inside an event, or data of another writer format.

    `at` is where, in bytes from the beginning of what was read; for a segment, its offset. `cut_off`: an event may
    begin there, but ends after what was asked for.
    """

    def __init__(self, message: str, at: int = 0, *, cut_off: bool = False) -> None:
        super().__init__(message)
        self.at = at
        self.cut_off = cut_off


class ReaderGroupError(PravegaError):
    """The root of the errors about the state of a reader group."""


class ReaderGroupStateError(ReaderGroupError):
    """The state of a reader group, or a checkpoint or cut in bytes, is damaged, or of a newer Pravega."""


class ReadersOnlineError(ReaderGroupError):
    """A reader group cannot be moved or deleted, because readers are at work. `readers` are their names."""

    def __init__(self, message: str, readers: frozenset[str] = frozenset()) -> None:
        super().__init__(message)
        self.readers = readers


class CheckpointError(ReaderGroupError):
    """A checkpoint of a reader group was not made, or there is none."""


# --- event time ---------------------------------------------------------------------------------------------


class EventTimeError(PravegaError):
    """The root of the errors about questions that a stream's watermarks cannot answer."""


class NotYetError(EventTimeError):
    """The writers of a stream have not reached this event time yet; they may reach it soon."""

    retryable = True


class BeforeHistoryError(EventTimeError):
    """The event time that was asked for is before the stream's first watermark."""


class NoWatermarksError(EventTimeError):
    """The stream has no watermarks: none of its writers has noted a time."""


# --- schemas ------------------------------------------------------------------------------------------------


class SchemaError(PravegaError):
    """The root of the Schema Registry's errors."""


class InvalidSchemaError(SchemaError, ValueError):
    """A schema, or a request about one, that the registry cannot parse."""


class SchemaRefusedError(SchemaError):
    """A group's policy, format or types do not allow a schema, or the group exists already."""


class CodecNotRegisteredError(SchemaError):
    """A codec that the group does not allow, or that this process does not know."""


class SplitProofError(MalformedEventError):
    """A segment was split at an offset where no event starts. It can be read without a split."""


# --- transactions and tables --------------------------------------------------------------------------------


class TransactionError(PravegaError):
    """A transaction cannot do what was asked in the state that it is in."""


class TransactionAbortedError(TransactionError):
    """The transaction was aborted, or its lease ran out; its events will never be seen."""


class TableConflictError(PravegaError):
    """A conditional update expected one version of a key and found a different one."""


class LedgerError(PravegaError):
    """The root of the ledgers' errors."""


class NoRangeYetError(LedgerError):
    """The next range of a chain cannot be taken now: an earlier interval is not done, or too little was written."""

    retryable = True


class HalfDoneError(LedgerError):
    """A claimant has ended after a part of its work, or its sinks cannot be asked: only its own run can continue."""


class PartialCommitError(LedgerError):
    """Some transactions of a decided job are committed and others are lost forever; a person must decide."""


class WrongLedgerError(LedgerError):
    """The stream's writes are recorded in a different ledger, or this ledger was emptied since."""


class MixedRangeError(LedgerError):
    """Others wrote to the stream while a write committed: the range between its cuts has other events as well."""


class WriteIdReusedError(LedgerError):
    """A write id was used again with different rows; nothing was written this time."""


class SinksError(LedgerError):
    """A write id was used again with other streams: all streams of a write are decided together."""


class NotVisibleError(LedgerError):
    """A write is not visible as a whole yet: its writer, or the next one, makes it visible in all of its streams."""

    retryable = True


class GenerationError(LedgerError):
    """A generation of a write is asked for that cannot be written: the one before it is not done, or not known."""


class WriteClosedError(LedgerError):
    """The range that a write was for was taken over: no attempt may do the write, until its run begins again."""


class WriteSupersededError(LedgerError):
    """Another attempt of the same write id won the race; this attempt's transactions were aborted."""


class LandingError(PravegaError):
    """A table cannot take the rows of an interval: it holds another range of it, or is not what the rows need."""


class TooManyErrorsError(LandingError):
    """A landing or a write has more events that cannot be decoded than it may have; none of its rows is visible."""


class TableUnavailableError(LandingError):
    """The server of a table that rows are landed in cannot be reached, or did not finish: another try can succeed."""

    retryable = True


# --- replays ------------------------------------------------------------------------------------------------


class ReplayError(PravegaError):
    """Code that is replayed has raised an error, which is the cause of this one."""


# --- copies of Kafka's topics -------------------------------------------------------------------------------


class TopicCopyError(PravegaError):
    """The root of the errors about copies of Kafka's topics: a copy cannot do what was asked in the state it is in."""


class KafkaUnavailableError(TopicCopyError):
    """Kafka cannot be reached, or did not answer in time: another try can succeed."""

    retryable = True


class GroupAtWorkError(TopicCopyError):
    """Consumers of a group are at work in Kafka: another try can succeed once they have ended."""

    retryable = True


class RecordRefusedError(TopicCopyError):
    """A record of Kafka has something that an event cannot keep with these options: its key, its headers, no value."""


class RecordsLostError(TopicCopyError):
    """Kafka has deleted records before they were copied."""


class NotExactError(TopicCopyError):
    """A consumer group's offsets and the cuts of a copy do not meet: some events would be processed twice or never."""


# --- the emulator -------------------------------------------------------------------------------------------


class EmulatorError(PravegaError):
    """The embedded server could not be fetched, started or reached."""


class ChecksumError(EmulatorError):
    """A fetched jar does not have the expected SHA-256."""
