import type { AgentEvent, View } from '@millrace/core';

/** The value of a run's source that says where the run's own records begin. */
interface RunStart {
  readonly begins?: (() => number | undefined) | undefined;
}

/**
 * Returns a view without the events of an earlier run that the same call ends first. The questions of that
 * run stay. Otherwise nobody could answer them.
 */
export function withoutEarlierRun(source: RunStart, view: View<AgentEvent>): View<AgentEvent> {
  return (before, record, after) => {
    const events = view(before, record, after);
    return isOwn(source, record.offset) ? events : events.filter(isQuestion);
  };
}

/** True if the call first ends an earlier run. `opened` is the offset of the initial state. */
export function endsEarlierRun({ begins }: RunStart, opened: number): boolean {
  return begins !== undefined && begins() !== opened;
}

/** True if a record belongs to the run, and not to an earlier run that the same call ends first. */
export function isOwn({ begins }: RunStart, offset: number): boolean {
  if (begins === undefined) return true;
  const begin = begins();
  return begin !== undefined && offset > begin;
}

function isQuestion({ type }: AgentEvent): boolean {
  return type === 'approval_asked' || type === 'approval_answered' || type === 'tool_output_asked';
}
