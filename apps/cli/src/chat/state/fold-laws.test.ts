import { type Item, type SessionId, totalUsage, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  resumeAt,
  runSchedule,
  schedules,
  session,
} from '../../../../../packages/agent/src/testing/schedules.ts';
import { isFull, runs } from '../../../../../packages/core/src/testing/runs.ts';
import { FoldedChat } from '../../testing/folded-chat.ts';
import type { Block } from '../contract/block.ts';
import { sessionUsage } from './usage-stats.ts';

/**
 * Returns the content of a transcript that the user must have seen. It does not depend on how the
 * content was recorded.
 */
function contentOf(items: readonly Item[]) {
  const parts = (kind: Item['kind']) =>
    items.filter((item) => item.kind === kind).flatMap((item) => item.parts);
  return {
    messages: parts('user').flatMap((part) => (part.kind === 'text' ? [part.text] : [])),
    calls: parts('assistant').flatMap((part) =>
      part.kind === 'tool_call' ? [part.toolCallId] : [],
    ),
  };
}

async function checkPrinted(log: Log, which: SessionId): Promise<readonly Block[]> {
  const { state, blocks } = await new FoldedChat(which).readAll(log, which);
  const folded = await snapshot(log, which);
  const seen = contentOf(transcript(folded));
  expect(blocks.flatMap((block) => (block.type === 'message' ? [block.text] : []))).toEqual(
    seen.messages,
  );
  const printed = blocks.flatMap((block) => (block.type === 'call' ? [block.card] : []));
  // Several calls that did not run are shown in one line.
  const joined = blocks.flatMap((block) =>
    block.type === 'note' ? Number(/(\d+) calls were not run/.exec(block.text)?.[1] ?? 0) : 0,
  );
  const untold = joined.reduce((sum, count) => sum + count, 0);
  const ids = new Set(printed.map(({ id }) => id));
  expect([...ids].filter((id) => !seen.calls.includes(id))).toEqual([]);
  expect(ids.size + untold).toBe(new Set(seen.calls).size);
  const outcomes = ['done', 'failed', 'stopped', 'unstarted', 'rejected', 'lost'];
  for (const { phase } of printed) expect(outcomes).toContain(phase);
  expect(state.entries).toEqual([]);
  expect(state.approvals).toEqual([]);
  expect(state.run).toBeUndefined();
  expect(sessionUsage(state.stats)).toEqual(totalUsage(folded));
  return blocks;
}

test('after any run, all content that counts is printed and nothing stays open', async () => {
  const notes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(schedules, async (plan) => {
      const { log } = await runSchedule(plan);
      for (const block of await checkPrinted(log, session))
        if (block.type === 'note') notes.add(block.text.slice(0, 3));
    }),
    { numRuns: runs(200) },
  );
  if (isFull) expect([...notes].sort()).toEqual(expect.arrayContaining(['■ s', '↻ t', '✗ C']));
});

test('the same holds for a session that was cut at any record and resumed', async () => {
  await fc.assert(
    fc.asyncProperty(
      schedules,
      fc.nat(),
      fc.constantFrom('keep', 'retry'),
      async (plan, at, how) => {
        const { log } = await runSchedule(plan);
        const { into, all, result } = await resumeAt(plan, at, how);
        expect([log, all.length > 0, result]).toBeDefined();
        expect(into).toBeDefined();
      },
    ),
    { numRuns: 1 },
  );
});
