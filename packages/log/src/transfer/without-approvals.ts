import { type Fact, type LogRecord, type RunId, recordVersion } from '@millrace/core';

/**
 * Returns the records of an imported session without everything that would let a call run without a
 * question. The file may come from somebody else, and this user has not given its approvals:
 *
 * - The questions and answers of unfinished turns are removed. Their calls are decided again.
 * - The verdicts of guardrails in unfinished turns are removed. Their content is checked again.
 * - No answer applies to later calls, because `until` is removed.
 * - Queued commands are removed, such as approvals, and messages that a worker would answer.
 * - An unfinished run ends with the stop reason `aborted`, so that no process continues it automatically.
 *
 * Items and their content stay the same.
 */
export function withoutApprovals(
  records: readonly LogRecord[],
  through: number,
): { readonly records: readonly LogRecord[]; readonly through: number } {
  const { turn, finishes, run, queued } = openWork(records);
  const isOver = (of: number, index: number) => of !== turn && (finishes.get(of) ?? -1) > index;
  const kept = records.flatMap((record, index): readonly LogRecord[] => {
    const { fact } = record;
    if (fact === undefined) return [record];
    if (fact.type === 'command_queued') return queued.has(fact.key) ? [] : [record];
    if (!isApproval(fact) && fact.type !== 'guardrail_applied') return [record];
    if (!isOver(record.turn, index)) return [];
    return fact.type === 'approval_answered' ? [{ ...record, fact: withoutUntil(fact) }] : [record];
  });
  if (run === undefined) return { records: kept, through };
  const time = records.at(-1)?.time ?? 0;
  return { records: [...kept, runEnded(run, through + 1, time)], through: through + 1 };
}

interface OpenWork {
  /** The turn that has started and has not finished. */
  readonly turn: number | undefined;
  /** For each turn, the index of the last record that finishes it. */
  readonly finishes: ReadonlyMap<number, number>;
  readonly run: RunId | undefined;
  /** The keys of commands that no driver has handled. */
  readonly queued: ReadonlySet<string>;
}

/**
 * Finds the turn, the run and the commands that are still open after all records. It reads the records in
 * the order in which the agent loop folds them.
 */
function openWork(records: readonly LogRecord[]): OpenWork {
  let turn: number | undefined;
  let run: RunId | undefined;
  const finishes = new Map<number, number>();
  const queued = new Set<string>();
  for (const [index, { fact, turn: of }] of records.entries()) {
    switch (fact?.type) {
      case 'turn_started':
        turn = of;
        break;
      case 'turn_finished':
        finishes.set(of, index);
        if (turn === of) turn = undefined;
        break;
      case 'run_started':
        run = fact.runId;
        break;
      case 'run_finished':
        if (run === fact.runId) run = undefined;
        break;
      case 'command_queued':
        queued.add(fact.key);
        break;
      case 'command_consumed':
        queued.delete(fact.key);
        break;
      default:
    }
  }
  return { turn, finishes, run, queued };
}

type Answer = Extract<Fact, { type: 'approval_answered' }>;

function isApproval(fact: Fact): fact is Answer | Extract<Fact, { type: 'approval_asked' }> {
  return fact.type === 'approval_asked' || fact.type === 'approval_answered';
}

function withoutUntil({ until: _lasting, ...fact }: Answer): Answer {
  return fact;
}

function runEnded(runId: RunId, offset: number, time: number): LogRecord {
  const stop = { reason: 'aborted', cause: 'imported' } as const;
  const fact = { type: 'run_finished', runId, stop } as const;
  return { v: recordVersion, offset, time, turn: 0, attempt: 0, producer: 'import', fact };
}
