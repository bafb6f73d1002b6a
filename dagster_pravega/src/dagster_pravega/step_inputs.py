"""Ranges that the inputs of steps read, until an output is written, maybe by another IO manager."""

from dagster import InputContext, OutputContext

from dagster_pravega.input_range import InputRange

_Step = tuple[str, str]
_read: dict[_Step, dict[str, InputRange]] = {}


def keep_input(context: InputContext, ranges: InputRange) -> None:
    """Keep the ranges of an input for the output of the step; a retry of the step replaces them."""
    _read.setdefault(_step_of(context), {})[context.name] = ranges


def pop_inputs(context: OutputContext) -> dict[str, InputRange]:
    """The ranges of a step's inputs, by their names, for its first output; a second output gets none."""
    return _read.pop(_step_of(context), {})


def forget_run(run_id: str | None) -> None:
    """Forget the inputs of a run that is over in this process."""
    for step in [step for step in _read if step[0] == run_id]:
        _read.pop(step, None)


def _step_of(context: InputContext | OutputContext) -> _Step:
    return context.step_context.run_id, context.step_context.step.key
