import type { AgentEvent, View } from '@millrace/core';

/** The part of `RunEventSource` that shows which records belong to the run. */
interface RunStart {
  /** Returns the offset after which the run's own records begin. */
  readonly begins?: (() => number | undefined) | undefined;
}

/**
 * A call of `agent.run` may first end an earlier run. This function returns a view without the events of that
 * earlier run. The questions of that run are kept, because otherwise no client could answer them.
 */
export function withoutEarlierRun(source: RunStart, view: View<AgentEvent>): View<AgentEvent> {
  return (before, record, after) => {
    const events = view(before, record, after);
    return isOwn(source, record.offset) ? events : events.filter(isQuestion);
  };
}

/**
 * Returns true if the call of `agent.run` first ends an earlier run. `opened` is the offset of the initial
 * state.
 */
export function endsEarlierRun({ begins }: RunStart, opened: number): boolean {
  return begins !== undefined && begins() !== opened;
}

/**
 * Returns true if a record belongs to this run. Returns false if it belongs to an earlier run that the same
 * call of `agent.run` ends first.
 */
export function isOwn({ begins }: RunStart, offset: number): boolean {
  if (begins === undefined) return true;
  const begin = begins();
  return begin !== undefined && offset > begin;
}

function isQuestion({ type }: AgentEvent): boolean {
  return type === 'approval_asked' || type === 'approval_answered' || type === 'tool_output_asked';
}
