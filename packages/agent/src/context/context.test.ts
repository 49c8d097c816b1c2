import {
  countingIds,
  type Item,
  itemId,
  sessionId,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { call } from '../testing/model-script.ts';
import { defineTool } from '../tool/define-tool.ts';
import { dropFailedResults, dropReasoning } from './filters.ts';
import { planCompaction } from './fit-context.ts';

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
  execute: async ({ at }) => `${at} is there`,
});
const session = sessionId('s');
const usage = { input: 900, output: 100 };
const step = (id: string): ScriptEntry => ({
  content: { parts: [call(id, 'look', { at: id })] },
  usage,
});

function agentOf(script: readonly ScriptEntry[], summarize?: string | false) {
  const provider = scriptedProvider(script);
  const log = memoryLog();
  const compaction = {
    whenTokens: 1000,
    keepSteps: 1,
    ...(summarize !== undefined && { summarize }),
  };
  const agent = createAgent({ provider, log, tools: [look], ids: countingIds(), compaction });
  return { agent, provider, log };
}

describe('a long context', () => {
  test('is summarized in a turn of its own; the transcript stays, and the conversation continues', async () => {
    const summaries = ['I was asked to look around.', 'I was asked to look around; a is there.'];
    const script = [step('a'), summaries[0] ?? '', step('b'), summaries[1] ?? '', 'All is there.'];
    const { agent, provider, log } = agentOf(script);
    const { text, items, stop } = await agent.run('Look around', { session }).result;
    expect([text, stop.reason]).toEqual(['All is there.', 'stop']);
    const last = provider.requests.at(-1)?.request.items ?? [];
    expect(last.map(({ kind }) => kind)).toEqual(['context', 'assistant', 'tool']);
    expect(last[0]?.parts).toEqual([{ kind: 'text', text: summaries[1] }]);
    // The second summary covers the first one and the items since.
    const asked = provider.requests[3]?.request.items.map(({ kind }) => kind);
    expect(asked).toEqual(['context', 'assistant', 'tool', 'user']);
    expect(items.some(({ kind }) => kind === 'context')).toBe(true);
    const { records } = await log.read(session);
    expect(records.some(({ fact }) => fact?.type === 'compacted')).toBe(true);
    expect(findLogProblems(session, records)).toEqual([]);
  });

  test('is sent unchanged if the summary fails, and the run continues', async () => {
    const fault = { type: 'error', after: 0, error: 'auth' } as const;
    const failing = { content: { parts: ['never'] }, fault };
    const { agent, provider, log } = agentOf([step('a'), failing, 'All is there.']);
    const { text } = await agent.run('Look around', { session }).result;
    expect(text).toBe('All is there.');
    expect(JSON.stringify(provider.requests.at(-1)?.request.items)).toContain('Look around');
    expect(findLogProblems(session, (await log.read(session)).records)).toEqual([]);
  });

  test('is cut without a summary if configured so', async () => {
    const { agent, provider } = agentOf([step('a'), 'All is there.'], false);
    await agent.run('Look around', { session }).result;
    expect(provider.requests).toHaveLength(2);
    expect(provider.requests[1]?.request.items.map(({ kind }) => kind)).toEqual([
      'assistant',
      'tool',
    ]);
  });
});

test('a command summarizes the context, in any process that drives the session', async () => {
  const provider = scriptedProvider([
    'One.',
    'Two.',
    'Three.',
    'It was counted to three.',
    'Four.',
  ]);
  const log = memoryLog();
  const agent = createAgent({ provider, log });
  for (const said of ['And one?', 'And two?', 'And three?'])
    await agent.run(said, { session }).result;
  await log.submit(session, { type: 'compact' }, 'k');
  expect((await agent.resume(session).result).stop.reason).toBe('stop');
  expect((await agent.run('And four?', { session }).result).text).toBe('Four.');
  const sent = provider.requests.at(-1)?.request.items.map(({ kind }) => kind);
  expect(sent).toEqual(['context', 'user', 'assistant', 'user']);
});

describe('the steps that a compaction covers', () => {
  const kinds = fc.array(
    fc.constantFrom('user', 'assistant', 'tool') as fc.Arbitrary<Item['kind']>,
  );

  test('keep an answer together with the results of its calls, and respect keepSteps', () => {
    fc.assert(
      fc.property(kinds, fc.integer({ min: 1, max: 5 }), (all, keep) => {
        const items = all.map((kind, at): Item => ({ id: itemId(`i${at}`), kind, parts: [] }));
        const aim = { keepSteps: keep, maxLength: 1e9, clips: false, summaryId: itemId('summary') };
        const covered = new Set(planCompaction(items, aim).covered);
        const left = items.filter(({ id }) => !covered.has(id));
        expect(items.slice(items.length - left.length)).toEqual(left);
        if (covered.size > 0) expect(left[0]?.kind).not.toBe('tool');
      }),
    );
  });
});

describe('a filter', () => {
  const part = toolCallPart(toolCallId('c'), 'look', {});
  const result = { kind: 'tool_result', toolCallId: toolCallId('c'), name: 'look' } as const;
  const items: readonly Item[] = [
    {
      ...{ id: itemId('a'), kind: 'assistant' },
      parts: [{ kind: 'reasoning', form: 'full', text: 'Hm' }, part],
    },
    { id: itemId('t'), kind: 'tool', parts: [{ ...result, text: 'a long story', isError: true }] },
    {
      ...{ id: itemId('b'), kind: 'assistant' },
      parts: [{ kind: 'reasoning', form: 'full', text: 'Aha' }],
    },
  ];

  test('drops old reasoning, and keeps the last answer unchanged', () => {
    expect(dropReasoning()(items).map(({ parts }) => parts.map(({ kind }) => kind))).toEqual([
      ['tool_call'],
      ['tool_result'],
      ['reasoning'],
    ]);
  });

  test('shortens old failed results, but keeps the fact that they failed', () => {
    expect(dropFailedResults()(items)[1]?.parts).toEqual([
      { ...result, text: 'It failed.', isError: true },
    ]);
  });
});
