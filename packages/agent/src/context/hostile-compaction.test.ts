import type { Item } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import type { ScriptEntry, ScriptedResponse } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  never,
  problemsLeftIn,
  session,
  type TestAgentOptions,
  textsOf,
  tool,
  types,
} from '../testing/test-agent.ts';
import { withMethods } from '../testing/test-doubles.ts';
import { flushPendingWork, VirtualClock } from '../testing/virtual-time.ts';
import { summaryPrompt } from './changed-items.ts';

const look = tool('look', async () => 'seen', { effects: 'none' });
const long = { input: 1000 } as const;
const afterOne = { compaction: { whenTokens: 500, keepSteps: 1 } } as const;
const overflow = { type: 'error', after: 0, error: 'context_overflow' } as const;
const tooLong: ScriptEntry = { ...answer('Never said'), fault: overflow };

const isSummary = (items: readonly Item[] = []) => items.at(-1)?.id === 'summarise';

/** A model that calls a tool in each turn and reports the token count. */
function stepsOf(
  count: number,
  tokensOf: (turn: number) => number,
  summary: ScriptEntry = 'Summary',
) {
  let turn = 0;
  const said: ScriptEntry = ({ items }) => {
    if (isSummary(items)) return summary as ScriptedResponse;
    turn++;
    if (turn > count) return 'Done.';
    return { ...answer(call(`c${turn}`, 'look', turn)), usage: { input: tokensOf(turn) } };
  };
  return Array.from({ length: 3 * count }, () => said);
}

/** Two questions. The context is compacted before the second one is answered. */
async function summarisedBy(summary: ScriptEntry, options: TestAgentOptions = {}) {
  const first: ScriptEntry = { ...answer('Hello, Ada.'), usage: long };
  const stage = createTestAgent([first, summary, 'You are Ada.'], { ...afterOne, ...options });
  await stage.end(stage.agent.run('I am Ada', { session }));
  const result = await stage.end(stage.agent.run('Who am I?', { session }));
  const sent = stage.provider.requests.at(-1)?.request.items ?? [];
  return { ...stage, result, sent: sent.flatMap(textsOf) };
}

describe('a context that grows', () => {
  test.each([
    ['in its first turns', () => 1000],
    ['later on', (turn: number) => (turn > 10 ? 1000 : 10)],
  ])('is summarized, but not in every turn: %s', async (_when, tokensOf) => {
    const compaction = { whenTokens: 500, keepSteps: 6 };
    const stage = createTestAgent(stepsOf(30, tokensOf), { tools: [look], compaction });
    const { text } = await stage.end(stage.agent.run('Go', { session }));
    expect(text).toBe('Done.');
    const requests = stage.provider.requests.map(({ request }) => request.items);
    const summaries = requests.filter(isSummary).length;
    expect(summaries).toBeGreaterThan(1);
    expect(summaries).toBeLessThan(10);
    expect(Math.max(...requests.map(({ length }) => length))).toBeLessThan(35);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('is summarized a few turns later after a failed summary', async () => {
    const failing = { ...answer('No'), fault: { type: 'error', after: 0, error: 'overloaded' } };
    let failures = 0;
    const script = stepsOf(12, () => 1000).map(
      (said): ScriptEntry =>
        (request) => {
          if (isSummary(request.items) && failures++ === 0) return failing as ScriptedResponse;
          return (said as (given: typeof request) => ScriptedResponse)(request);
        },
    );
    const stage = createTestAgent(script, { tools: [look], ...afterOne });
    expect((await stage.end(stage.agent.run('Go', { session }))).text).toBe('Done.');
    expect(failures).toBeGreaterThan(1);
    expect(types(stage.records)).toContain('compacted');
    expect(stage.provider.requests.at(-1)?.request.items[0]?.kind).toBe('context');
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });
});

describe('a summary', () => {
  const all = ['I am Ada', 'Hello, Ada.', 'Who am I?'];

  test.each<[string, ScriptEntry]>([
    ['is a refusal', { ...answer('I cannot help with that.'), stop: 'refusal' }],
    ['was cut off', { ...answer('The user said tha'), stop: 'length' }],
    ['was filtered', { ...answer('The'), stop: 'content_filter' }],
    ['is empty', answer()],
    ['failed', { ...answer('The user'), fault: { type: 'error', after: 2, error: 'overloaded' } }],
  ])('that %s does not replace the conversation', async (_how, summary) => {
    const { sent, result, log } = await summarisedBy(summary);
    expect([sent, result.text]).toEqual([all, 'You are Ada.']);
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  const calling: ScriptEntry = answer(call('c1', 'look', {}), 'A summary');

  test('that calls a tool runs nothing, and does not replace the conversation', async () => {
    let ran = 0;
    const counted = tool('look', async () => void ran++, { effects: 'none' });
    const { sent, result, records } = await summarisedBy(calling, { tools: [counted] });
    expect([ran, sent, result.text]).toEqual([0, all, 'You are Ada.']);
    expect(types(records)).not.toContain('tool_execution_started');
    expect(result.items.some(({ kind }) => kind === 'tool')).toBe(false);
  });

  test('that calls a tool leaves no call without a result', async () => {
    const { log } = await summarisedBy(calling, { tools: [look] });
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('is made from clipped outputs, not from full ones', async () => {
    const much = tool('look', async () => 'x'.repeat(100_000), { maxOutputLength: 1000 });
    const stage = createTestAgent(
      stepsOf(2, () => 1000),
      { tools: [much], ...afterOne },
    );
    await stage.end(stage.agent.run('Go'));
    const asked = stage.provider.requests.map(({ request }) => request.items).filter(isSummary);
    const sent = JSON.stringify(asked.at(-1));
    expect(sent).toContain('characters are left out here');
    expect(sent.length).toBeLessThan(4000);
  });

  test('is sent together with the caller’s own context', async () => {
    const own = { ...userSaid('own', 'Be kind'), kind: 'context' } as const;
    const compaction = { whenTokens: 500, keepSteps: 2 };
    const script = [{ ...answer('Yes.'), usage: long }, 'Summary', 'No.'];
    const { agent, end, provider } = createTestAgent(script, { compaction });
    await end(agent.run('Go', { session }));
    await end(agent.run([own, userSaid('u2', 'And?')], { session }));
    const sent = provider.requests[2]?.request.items.flatMap(textsOf);
    expect(sent).toEqual(['Summary', 'Be kind', 'And?']);
  });

  test('does not hide a new item with a covered id: that id is rejected', async () => {
    const { agent, end, provider, log } = await summarisedBy('She is Ada.');
    const covered = (await log.read(session)).records.flatMap(({ fact }) =>
      fact?.type === 'compacted' ? fact.itemIds : [],
    );
    expect(covered.length).toBeGreaterThan(0);
    const asked = provider.requests.length;
    const { error } = await end(agent.run(userSaid(`${covered[0]}`, 'And now?'), { session }));
    expect([error?.code, provider.requests.length]).toEqual(['bad_option', asked]);
  });

  test('whose blobs never load does not block an abort', async () => {
    const clock = new VirtualClock();
    const inner = memoryLog({ clock });
    const ref = await inner.blobs.put(new Uint8Array([1]));
    const picture = { kind: 'media', mimeType: 'image/png', source: { type: 'blob', ...ref } };
    let isLost = false;
    const get = (hash: string) => (isLost ? never() : inner.blobs.get(hash));
    const log = withMethods(inner, { blobs: { ...inner.blobs, get } as never });
    const script = [{ ...answer('Yes.'), usage: long }, 'Summary', 'No.'];
    const stage = createTestAgent(script, { ...afterOne, clock, log });
    const asked = { ...userSaid('u1', 'Look'), parts: [picture] } as unknown as Item;
    await stage.end(stage.agent.run(asked, { session }));
    isLost = true;
    const run = stage.agent.run('And?', { session });
    await stage.until('turn_started', 2);
    await flushPendingWork();
    await run.abort();
    expect((await stage.end(run)).stop.reason).toBe('aborted');
  });
});

function userSaid(id: string, text: string): Item {
  return { id: id as Item['id'], kind: 'user', parts: [{ kind: 'text', text }] };
}

describe('a context that overflows', () => {
  const steps = [1, 2, 3].map((n) => answer(call(`c${n}`, 'look', n)));
  const options = { tools: [look], compaction: { whenTokens: 1e9, keepSteps: 2 } };

  test('is summarized, and the question is answered', async () => {
    const { agent, end, provider, log } = createTestAgent(
      [...steps, tooLong, 'Summary', 'Done.'],
      options,
    );
    const { text, stop, error } = await end(agent.run('Go', { session }));
    expect([text, stop.reason, error]).toEqual(['Done.', 'stop', undefined]);
    const [refused, summarised, last] = provider.requests
      .slice(-3)
      .map(({ request }) => request.items);
    expect(summarised?.at(-1)?.parts).toEqual([{ kind: 'text', text: summaryPrompt }]);
    expect(last?.map(({ kind }) => kind).slice(0, 2)).toEqual(['context', 'assistant']);
    expect(last?.length).toBeLessThan(refused?.length ?? 0);
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('with the first input of a run is summarized, and the input is answered', async () => {
    const script = ['One.', 'Two.', tooLong, 'Summary', 'Three.'];
    const { agent, end, provider, log } = createTestAgent(script, options);
    for (const asked of ['First', 'Second']) await end(agent.run(asked, { session }));
    expect((await end(agent.run('Third', { session }))).text).toBe('Three.');
    expect(provider.requests.at(-1)?.request.items.flatMap(textsOf)).toContain('Third');
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('is cut without a summary if configured so', async () => {
    const compaction = { ...options.compaction, summarize: false } as const;
    const stage = createTestAgent([...steps, tooLong, 'Done.'], { ...options, compaction });
    expect((await stage.end(stage.agent.run('Go', { session }))).text).toBe('Done.');
    expect(stage.provider.requests).toHaveLength(5);
  });

  test('ends the run if nothing can be dropped, or if it overflows again', async () => {
    const again = Array.from({ length: 9 }, () => tooLong);
    const cases: readonly (readonly [readonly ScriptEntry[], TestAgentOptions])[] = [
      [again, options],
      [[...steps, tooLong, 'Summary', ...again], options],
      // The summary is too long as well.
      [[...steps, ...again], options],
      [again, { tools: [look] }],
    ];
    for (const [script, given] of cases) {
      const { agent, end, log } = createTestAgent(script, given);
      const { stop } = await end(agent.run('Go', { session }));
      expect(stop).toEqual({ reason: 'error', cause: 'context_overflow' });
      expect(await problemsLeftIn(log)).toEqual([]);
    }
  });
});

test('every summary contains the text that must be kept', async () => {
  const seen: number[] = [];
  const keep = (items: readonly Item[]) => {
    seen.push(items.length);
    return '<kept>The goal</kept>';
  };
  const compaction = { whenTokens: 500, keepSteps: 1, keep };
  const stage = createTestAgent(
    stepsOf(12, () => 1000),
    { tools: [look], compaction },
  );
  await stage.end(stage.agent.run('Go', { session }));
  const { requests } = stage.provider;
  const summarised = requests.flatMap(({ request: { items } }) =>
    items.filter(({ kind }) => kind === 'context').map((item) => textsOf(item).join('')),
  );
  expect(seen.length).toBeGreaterThan(1);
  expect(new Set(summarised)).toEqual(new Set(['Summary\n\n<kept>The goal</kept>']));
});

test('without a summary, only the text that must be kept stays', async () => {
  const compaction = { ...afterOne.compaction, summarize: false, keep: () => 'The goal' } as const;
  const { sent } = await summarisedBy('Never asked', { compaction });
  expect(sent).toContain('The goal');
});
