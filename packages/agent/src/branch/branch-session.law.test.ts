import { emptyState, foldBatch, type LogRecord, transcript } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull, runs } from '../../../core/src/testing/runs.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { branchOf, schedules } from '../testing/schedules.ts';
import type { SessionBranch } from './session-branch.ts';

interface Origin {
  readonly records: readonly LogRecord[];
  readonly ends: readonly number[];
}

const changes = fc.constantFrom('input', 'result', 'rerun', 'model', 'instructions', 'none');

/** The calls of the turn that is the last one at a record. */
function callsAt(records: readonly LogRecord[], at: number): readonly string[] {
  const seen = records.filter(({ offset }) => offset <= at);
  const turn = seen.findLast(({ fact }) => fact?.type === 'turn_started')?.turn;
  const state = foldBatch(emptyState('s' as never), { after: 0, through: at, records: seen }).state;
  return transcript(state)
    .filter(({ kind }) => kind === 'assistant')
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.kind === 'tool_call' ? part.toolCallId : []))
    .filter((id) => seen.some((one) => one.turn === turn && mentions(one, id)));
}

function mentions({ delta, fact }: LogRecord, id: string): boolean {
  return JSON.stringify(delta ?? fact).includes(`"toolCallId":"${id}"`);
}

/** The executions of a session that have a result, by the id of the call. */
function completed(records: readonly LogRecord[]): ReadonlySet<string> {
  return new Set(
    records.flatMap(({ fact }) =>
      fact?.type === 'tool_execution_finished' && fact.outcome === 'completed'
        ? fact.toolCallId
        : [],
    ),
  );
}

test('a branch of a random run replays to the same log, and no call of the common part runs again', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(schedules, fc.nat(), changes, fc.nat(), async (plan, place, change, pick) => {
      const choose = ({ records, ends }: Origin): SessionBranch => {
        const at = pick % 4 === 0 ? place % (records.length + 1) : (ends[place % ends.length] ?? 0);
        const calls = callsAt(records, at);
        const call = calls[pick % Math.max(1, calls.length)];
        if (change === 'result' && call !== undefined)
          return { at, results: { [call]: { output: 'Another result' } } };
        if (change === 'rerun' && call !== undefined) return { at, rerun: [call] };
        if (change === 'input') return { at, input: 'Another way' };
        if (change === 'instructions') return { at, instructions: 'Be brief.' };
        if (change === 'model') return { at, provider: scriptedProvider([], { model: 'other' }) };
        return { at };
      };
      const branch = await branchOf(plan, choose, {
        onInterrupted: pick % 2 === 0 ? 'keep' : 'retry',
      });
      const { origin, all, ran, agent, into, chosen, info, log } = branch;
      expect((await log.read('s', { maxBytes: Number.POSITIVE_INFINITY })).records).toEqual(
        origin.records,
      );
      // A place without open work, or with an incomplete answer, is refused and creates nothing.
      if (info === undefined) {
        expect(branch.result.reason).toBe('error');
        expect(branch.result.error?.message).toMatch(/^Cannot branch session s at record/);
        seen.add('refused');
        return;
      }
      seen.add(change);
      const fact = all.find((one) => one.fact?.type === 'branched')?.fact;
      expect(fact).toMatchObject({ from: { session: 's', at: chosen.at } });
      const done = completed(origin.records);
      for (const [id, times] of ran) {
        const isAsked = chosen.rerun?.includes(id) ?? false;
        expect({ id, times }).toEqual({ id, times: done.has(id) && !isAsked ? 0 : 1 });
      }
      if (chosen.results !== undefined) {
        const text = JSON.stringify(transcript(stateOf(all)));
        expect(text).toContain('Another result');
      }
      if (branch.result.reason === 'stop') expect(findLogProblems(into, all)).toEqual([]);
      // A driver writes a batch as a whole, so a replay cannot stop inside of a batch.
      if (!origin.ends.includes(info.origin?.through ?? 0)) return;
      seen.add('replayed');
      expect((await agent.replay(into)).divergence).toBeUndefined();
    }),
    { numRuns: runs(1000), endOnFailure: true },
  );
  if (isFull) expect(seen.size).toBe(8);
});

function stateOf(records: readonly LogRecord[]) {
  const through = records.at(-1)?.offset ?? 0;
  return foldBatch(emptyState('s' as never), { after: 0, through, records }).state;
}
