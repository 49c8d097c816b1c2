import {
  type Fact,
  type LogRecord,
  ownChild,
  type RunId,
  recordVersion,
  type SessionId,
} from '@millrace/core';

type ChildId = (named: SessionId) => SessionId;

/** The session in the file, and the session that the import creates. */
interface ImportedIds {
  readonly from: SessionId;
  readonly into: SessionId;
}

/**
 * Returns the records of an imported session without everything that would let a call run, or a file change,
 * without a question. The file may come from another person, and this user has not given its approvals:
 *
 * - All questions about calls and their answers are removed, also questions to clients. Calls without a
 *   result are decided again.
 * - All verdicts of guardrails are removed. The content of unfinished turns is checked again.
 * - All commands are removed, such as approvals, and messages that a worker would answer.
 * - Changes of files become unknown changes. Otherwise, `/undo` would write contents from the file.
 * - The model and the instructions of a branch are removed, because they would replace those of this user's
 *   agent.
 * - Calls of sub-agents lose their link to a session, or get a link to the id that `childId` returns. The session
 *   that the file names belongs to this user, or this user can create it later. A link that the session of the
 *   file copied from its own original is lost too.
 * - An unfinished run ends with the stop reason `aborted`, so that no process continues it automatically.
 *
 * Finished and unfinished turns are treated in the same way, because a copy of the session can end in the
 * middle of a finished turn. Items and their content stay the same.
 */
export function withoutApprovals(
  records: readonly LogRecord[],
  through: number,
  childId: ChildId | undefined,
  ids: ImportedIds,
): { readonly records: readonly LogRecord[]; readonly through: number } {
  const kept = records.flatMap((record): readonly LogRecord[] => {
    if (record.fact === undefined) return [record];
    const fact = harmlessFact(record.fact, childId, ids);
    return fact === undefined ? [] : [fact === record.fact ? record : { ...record, fact }];
  });
  const run = openRun(records);
  if (run === undefined) return { records: kept, through };
  const time = records.at(-1)?.time ?? 0;
  return { records: [...kept, runEnded(run, through + 1, time)], through: through + 1 };
}

/** Returns undefined if the fact must be removed. */
function harmlessFact(
  fact: Fact,
  childId: ChildId | undefined,
  { from, into }: ImportedIds,
): Fact | undefined {
  switch (fact.type) {
    case 'approval_asked':
    case 'approval_answered':
    case 'tool_output_asked':
    case 'guardrail_applied':
    case 'command_queued':
    case 'command_consumed':
      return undefined;
    case 'file_changed': {
      const { before: _before, after: _after, ...rest } = fact;
      return { ...rest, path: '', scope: 'pending' };
    }
    case 'branched': {
      const { model: _model, instructions: _instructions, ...rest } = fact;
      return rest;
    }
    case 'tool_execution_started': {
      const { child: _child, parent: _parent, ...rest } = fact;
      const child = ownChild(fact, from);
      return child === undefined || childId === undefined
        ? rest
        : { ...rest, child: childId(child), parent: into };
    }
    default:
      return fact;
  }
}

/** Returns the run that is still open after all records, in the order in which the agent loop folds them. */
function openRun(records: readonly LogRecord[]): RunId | undefined {
  let run: RunId | undefined;
  for (const { fact } of records) {
    if (fact?.type === 'run_started') run = fact.runId;
    if (fact?.type === 'run_finished' && run === fact.runId) run = undefined;
  }
  return run;
}

function runEnded(runId: RunId, offset: number, time: number): LogRecord {
  const stop = { reason: 'aborted', cause: 'imported' } as const;
  const fact = { type: 'run_finished', runId, stop } as const;
  return { v: recordVersion, offset, time, turn: 0, attempt: 0, producer: 'import', fact };
}
