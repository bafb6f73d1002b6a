"""What the inputs of steps read, until an output is written: an IO manager may write what another one has read."""

from dagster import InputContext, OutputContext

from dagster_pravega.partitions.input_range import InputRange

_Step = tuple[str, str]
_read: dict[_Step, dict[str, InputRange]] = {}


def note_input(context: InputContext, found: InputRange) -> None:
    """Keep what an input reads; a further try of the step replaces it."""
    _read.setdefault(_step_of(context), {})[context.name] = found


def take_inputs(context: OutputContext) -> dict[str, InputRange]:
    """What the inputs of a step have read, by their names; the second output of a step gets nothing."""
    return _read.pop(_step_of(context), {})


def forget_run(run_id: str | None) -> None:
    """Forget the inputs of a run that is over in this process."""
    for step in [step for step in _read if step[0] == run_id]:
        _read.pop(step, None)


def _step_of(context: InputContext | OutputContext) -> _Step:
    return context.step_context.run_id, context.step_context.step.key
