import { emptyState, foldBatch, type Item, type Part, transcript } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import type { ScriptEntry } from '@millrace/providers/scripted';
import { scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runs } from '../../../core/src/testing/runs.ts';
import { createAgent } from '../create-agent.ts';
import { call } from '../testing/model-script.ts';
import { defineTool } from '../tool/define-tool.ts';
import { branchSession } from './branch-session.ts';
import type { SessionBranch } from './session-branch.ts';

const answers = fc.array(
  fc.record({
    text: fc.string({ minLength: 1, maxLength: 12 }),
    calls: fc.array(fc.constantFrom('look', 'do'), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 3 },
);

const changes = fc.constantFrom('input', 'result', 'rerun', 'instructions');

interface Answer {
  readonly text: string;
  readonly calls: readonly string[];
}

function scriptOf(plan: readonly Answer[], name: string): readonly ScriptEntry[] {
  const withCalls = plan.map(({ text, calls }, index): ScriptEntry => {
    const made = calls.map((tool, at) => call(`${name}${index}.${at}`, tool, {}));
    return { content: { parts: [text, ...made] } };
  });
  return [...withCalls, ...Array.from({ length: 8 }, () => 'The end.')];
}

/** Returns tools that count their executions and return the count, or a fixed result. */
function toolsOf(ran: Map<string, number>, fixed: ReadonlyMap<string, string> = new Map()) {
  return (['look', 'do'] as const).map((name) =>
    defineTool({
      ...{ name, description: 'A tool', input: z.object({}) },
      effects: name === 'look' ? 'none' : 'external',
      execute: async (_input, { toolCallId }) => {
        const times = (ran.get(toolCallId) ?? 0) + 1;
        ran.set(toolCallId, times);
        return fixed.get(toolCallId) ?? `${toolCallId} ran ${times} times`;
      },
    }),
  );
}

async function itemsOf(log: Log, session: string): Promise<readonly Item[]> {
  const { records, through } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
  const state = foldBatch(emptyState(session as never), { after: 0, through, records }).state;
  return transcript(state);
}

/** Returns items without their ids, as a model sees them. */
function seen(items: readonly Item[]): unknown {
  return items.map(({ kind, parts }) => ({ kind, parts: parts.map(withoutMetadata) }));
}

function withoutMetadata({ metadata: _, ...part }: Part): unknown {
  return part;
}

test('a branch sends the same requests as a run that was given the same answers from the start', async () => {
  await fc.assert(
    fc.asyncProperty(
      ...([answers, answers, changes, fc.nat(), fc.nat()] as const),
      async (first, next, change, place, pick) => {
        const ran = new Map<string, number>();
        const log = memoryLog();
        const base = { log, instructions: 'Be helpful.' };
        const tools = toolsOf(ran);
        const origin = createAgent({
          ...{
            ...base,
            tools,
            provider: scriptedProvider(scriptOf(first, 'a'), { pieces: 'token' }),
          },
        });
        await origin.run('Begin', { session: 'origin' }).result;
        const { records } = await log.read('origin', { maxBytes: Number.POSITIVE_INFINITY });
        // An input inside of an answer interrupts it. A run from the start cannot do this.
        const places = records.filter(
          ({ turn, offset }) => change !== 'input' || (turn === 0 && offset < 6),
        );
        const at = places[place % places.length]?.offset ?? 0;
        const turn = records.findLast(
          (one) => one.offset <= at && one.fact?.type === 'turn_started',
        )?.turn;
        const calls = records.flatMap(({ fact, ...one }) =>
          fact?.type === 'tool_execution_finished' &&
          one.turn === turn &&
          finishedBy(records, one.turn, at)
            ? fact.toolCallId
            : [],
        );
        const id = calls[pick % Math.max(1, calls.length)];
        const branch: SessionBranch = {
          ...{ at, into: 'branch' },
          ...(change === 'input' && { input: 'Begin in another way' }),
          ...(change === 'instructions' && { instructions: 'Be brief.' }),
          ...(id !== undefined &&
            change === 'result' && { results: { [id]: { output: 'Changed' } } }),
          ...(id !== undefined && change === 'rerun' && { rerun: [id] }),
        };
        const provider = scriptedProvider(scriptOf(next, 'b'), { pieces: 'token' });
        const agent = createAgent({ ...base, tools, provider });
        const result = await branchSession(agent, 'origin', branch).result;
        if (result.reason === 'error') {
          expect(result.error?.message).toMatch(/^Cannot branch session origin at record/);
          return;
        }
        expect(result.reason).toBe('stop');
        for (const [one, times] of ran)
          expect([one, times]).toEqual([one, one === id && change === 'rerun' ? 2 : 1]);

        const items = await itemsOf(log, 'branch');
        const given = items.flatMap(({ kind, parts }) =>
          kind === 'assistant' ? [{ content: { parts: parts.filter(isContent) } }] : [],
        );
        const fixed = new Map(
          items.flatMap(({ parts }) =>
            parts.flatMap((part) =>
              part.kind === 'tool_result' ? [[part.toolCallId as string, part.text] as const] : [],
            ),
          ),
        );
        const control = scriptedProvider(given, { pieces: 'token' });
        const kept = given.length - provider.requests.length;
        await createAgent({
          ...{ ...base, log: memoryLog(), provider: control, tools: toolsOf(new Map(), fixed) },
          prepareStep: ({ turn: now }) =>
            change === 'instructions' && now > kept ? { instructions: 'Be brief.' } : undefined,
        }).run(change === 'input' ? 'Begin in another way' : 'Begin').result;
        const own = control.requests.slice(kept).map(({ request }) => seen(request.items));
        expect(provider.requests.map(({ request }) => seen(request.items))).toEqual(own);
        expect(provider.requests.length).toBeGreaterThan(0);
      },
    ),
    { numRuns: runs(1000), endOnFailure: true },
  );
});

function isContent({ kind }: Part): boolean {
  return kind === 'text' || kind === 'tool_call';
}

/** Returns true if the answer of the turn is complete at the record. */
function finishedBy(
  records: Awaited<ReturnType<Log['read']>>['records'],
  turn: number,
  at: number,
): boolean {
  return records.some(
    (one) => one.turn === turn && one.offset <= at && one.fact?.type === 'response_finished',
  );
}
