import { encodeRecord, type LogRecord, sessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import { countingLog } from '../../../log/src/testing/counting-log.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { LogBuilder, stop, usage } from '../testing/log-builder.ts';
import { call } from '../testing/model-script.ts';
import { lookTool } from '../testing/replay-scenarios.ts';
import { diffSessions } from './diff-sessions.ts';
import { findDivergence } from './find-divergence.ts';
import type { DiffOptions } from './session-diff.ts';

interface RunPlan {
  readonly script: readonly ScriptEntry[];
  readonly input?: string;
  readonly options?: Partial<AgentOptions>;
}

/** Runs an agent twice, with random ids, and compares the sessions. */
async function diffRuns(a: RunPlan, b: RunPlan, options?: DiffOptions) {
  const log = memoryLog();
  for (const [name, { script, input = 'Look around.', options: more }] of Object.entries({
    a,
    b,
  })) {
    const tools = [lookTool()];
    const agent = createAgent({ tools, ...more, log, provider: scriptedProvider(script) });
    await agent.run(input, { session: sessionId(name) }).result;
  }
  return { log, diff: await diffSessions(source(log, 'a'), source(log, 'b'), options) };
}

const source = (log: Log, session: string) => ({ log, session });

/** Returns the first record that has a text in its JSON. */
async function offsetOf(log: Log, session: string, text: string): Promise<number | undefined> {
  const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
  return records.find((record) => encodeRecord(record).includes(text))?.offset;
}

/** Returns the record of turn 2 that appended a position of its text. */
async function appendAt(log: Log, session: string, position: number): Promise<number | undefined> {
  const { records } = await log.read(session);
  return records.find(
    ({ turn, delta }) =>
      turn === 2 && delta?.type === 'append_text' && delta.at + delta.chunk.length > position,
  )?.offset;
}

const looks = (at: string): ScriptEntry => ({ content: { parts: [call('c', 'look', { at })] } });

describe('the cause is', () => {
  test('an answer, with the position in its text', async () => {
    const one = { script: [looks('x'), 'It is a heron on the bank.'] };
    const other = { script: [looks('x'), 'It is a goose on the bank.'] };
    const { log, diff } = await diffRuns(one, other);
    expect(diff.divergence).toMatchObject({
      ...{ cause: 'answer', turn: 2, attempt: 1, field: 'text' },
      a: { offset: await appendAt(log, 'a', 8), text: { at: 8, start: 0 } },
      b: { offset: await appendAt(log, 'b', 8), text: { text: 'It is a goose on the bank.' } },
    });
    expect(diff.turns.map(({ isSame }) => isSame)).toEqual([true, false]);
  });

  test('an answer with other arguments, as changed places of their value', async () => {
    const one = { script: [looks('north/gate'), 'Done.'] };
    const { diff } = await diffRuns(one, { script: [looks('south/gate'), 'Done.'] });
    expect(diff.divergence).toMatchObject({
      ...{ cause: 'answer', turn: 1, field: 'arguments', call: { index: 0, name: 'look' } },
      changes: [{ path: '/at', a: 'north/gate', b: 'south/gate' }],
    });
    expect(diff.differences.map(({ cause }) => cause)).toEqual(['answer', 'tool_result']);
  });

  test('a tool result, of the call at the same place of the answer', async () => {
    const script = [
      { content: { parts: [call('1', 'look', { at: 'x' }), call('2', 'look', { at: 'y' })] } },
      'Done.',
    ];
    const blind = lookTool({ execute: async ({ at }) => (at === 'y' ? 'fog' : `${at} is there`) });
    const { log, diff } = await diffRuns({ script }, { script, options: { tools: [blind] } });
    expect(diff.divergence).toMatchObject({
      ...{ cause: 'tool_result', turn: 1, field: 'text', call: { index: 1, name: 'look' } },
      a: { offset: await offsetOf(log, 'a', 'y is there'), toolCallId: '2' },
      b: { offset: await offsetOf(log, 'b', '"fog"') },
    });
  });

  test('a command: another message', async () => {
    const script = ['Done.'];
    const { log, diff } = await diffRuns({ script }, { script, input: 'Look away.' });
    expect(diff.divergence).toMatchObject({ cause: 'command', turn: 1, field: 'text' });
    expect(diff.divergence?.a?.offset).toBe(await offsetOf(log, 'a', 'Look around.'));
  });

  test('a setting: another model', async () => {
    const log = memoryLog();
    for (const model of ['small', 'large']) {
      const provider = scriptedProvider(['Done.'], { model });
      await createAgent({ log, provider }).run('Go', { session: sessionId(model) }).result;
    }
    const { divergence } = await diffSessions(source(log, 'small'), source(log, 'large'));
    const side = { type: 'response_started' };
    expect(divergence).toMatchObject({
      ...{ cause: 'setting', field: 'model' },
      a: { ...side, value: 'small' },
      b: { ...side, value: 'large' },
    });
  });

  test('a setting: a policy that asks', async () => {
    const script = [looks('x'), 'Done.'];
    const { diff } = await diffRuns({ script }, { script, options: { approve: () => 'deny' } });
    expect(diff.divergence).toMatchObject({ cause: 'setting', turn: 1, call: { index: 0 } });
    expect(diff.divergence?.b?.type).toBe('tool_call_rejected');
  });

  test('a request, if the provider counted other tokens for it', async () => {
    const said = (text: string, input: number): ScriptEntry => ({
      ...{ content: { parts: [text] }, usage: { input, output: 2 } },
    });
    const one = { script: [said('Yes.', 40)] };
    const { diff } = await diffRuns(one, { script: [said('Nope.', 90)] });
    expect(diff.divergence).toMatchObject({ cause: 'request', field: 'text' });
    const same = await diffRuns(one, { script: [said('Yes.', 90)] });
    expect(same.diff.divergence).toMatchObject({
      ...{ cause: 'request', field: 'inputTokens' },
      a: { type: 'response_finished', value: 40 },
      b: { type: 'response_finished', value: 90 },
    });
  });

  test('a request that a compaction changed', async () => {
    const script = (summary: string): readonly ScriptEntry[] => [
      { ...(looks('x') as object), usage: { input: 90, output: 10 } } as ScriptEntry,
      summary,
      'Done.',
    ];
    const compacts = { compaction: { whenTokens: 100, keepSteps: 1, summarize: 'Sum up.' } };
    const one = { script: script('The same.'), options: compacts };
    expect((await diffRuns(one, one)).diff.divergence).toBeUndefined();
    const never = { script: [script('')[0] as ScriptEntry, 'Done.'] };
    const { divergence } = (await diffRuns(one, never)).diff;
    expect(divergence?.turn).toBe(2);
  });
});

test('a fork that goes another way differs after the copied records', async () => {
  const log = memoryLog();
  const agentOf = (...script: readonly ScriptEntry[]) =>
    createAgent({ log, provider: scriptedProvider(script), tools: [lookTool()] });
  await agentOf(looks('x'), 'Done.').run('Go', { session: sessionId('a') }).result;
  const { through = 0 } = (await log.info('a')) ?? {};
  await log.fork('a', { into: 'b', through });
  expect((await diffSessions(source(log, 'a'), source(log, 'b'))).divergence).toBeUndefined();
  await agentOf('More.').run('And?', { session: sessionId('b') }).result;
  const { divergence } = await diffSessions(source(log, 'a'), source(log, 'b'));
  expect(divergence).toMatchObject({ cause: 'command', turn: 3, field: 'presence', a: undefined });
  expect(divergence?.b?.offset).toBeGreaterThan(through);
});

test('parallel calls that finish in another order are the same', async () => {
  const session = (order: readonly string[]): readonly LogRecord[] => {
    const log = new LogBuilder().at(1).fact({ type: 'turn_started' }).at(1, 1);
    const answer = log.request();
    const item = log.lastItem;
    for (const id of ['one', 'two']) answer.toolCall(toolCallId(id), 'look').commit();
    log.take(answer);
    log.fact({
      type: 'response_finished',
      itemId: item,
      stop: { reason: 'tool_use' },
      usage: usage(1, 1),
    });
    const results = log.item('tool');
    for (const id of order)
      results.whole({
        kind: 'tool_result',
        toolCallId: toolCallId(id),
        name: 'look',
        text: id,
        isError: false,
      });
    return log.take(results).at(1).fact({ type: 'turn_finished', stop }).records;
  };
  const log = memoryLog();
  await log.restore('a', session(['one', 'two']));
  await log.restore('b', session(['two', 'one']));
  const { divergence } = await diffSessions(source(log, 'a'), source(log, 'b'));
  expect(divergence).toBeUndefined();
});

test('redacted content is not compared, and later content is', async () => {
  const log = memoryLog();
  for (const name of ['a', 'b']) {
    const script = [looks('x'), name === 'a' ? 'A heron.' : 'A goose.'];
    const agent = createAgent({ log, provider: scriptedProvider(script), tools: [lookTool()] });
    await agent.run('Secret', { session: sessionId(name) }).result;
  }
  const { records } = await log.read('b');
  const user = records.find(({ fact }) => fact?.type === 'item_started')?.fact;
  if (user?.type === 'item_started') await log.redact('b', user.itemId);
  const diff = await diffSessions(source(log, 'a'), source(log, 'b'));
  expect(diff.redactedTurns).toEqual([1]);
  expect(diff.divergence).toMatchObject({ cause: 'answer', turn: 2 });
});

test('has the time, tokens and costs of both sides', async () => {
  const cost = (amount: string) => ({ costs: [{ amount, currency: 'USD' }] });
  const said = (output: number, amount: string): ScriptEntry => ({
    ...{ content: { parts: ['Yes.'] }, usage: { input: 10, output, ...cost(amount) } },
  });
  const { diff } = await diffRuns({ script: [said(5, '0.01')] }, { script: [said(7, '0.02')] });
  expect(diff.divergence).toBeUndefined();
  expect(diff.a).toMatchObject({ turns: 1, requests: 1, usage: { input: 10, output: 5 } });
  expect(diff.b.usage).toMatchObject({ output: 7, ...cost('0.02') });
  expect(diff.turns).toMatchObject([{ turn: 1, isSame: true, a: { model: 'script' } }]);
});

test('texts and lists are limited', async () => {
  const long = 'word '.repeat(200);
  const answers = (end: string) => [...Array.from({ length: 5 }, () => looks(end)), long + end];
  const limits = { maxDifferences: 3, maxTextLength: 100 };
  const { diff } = await diffRuns({ script: answers('x') }, { script: answers('y') }, limits);
  expect(diff.differences).toHaveLength(3);
  expect(diff.differenceCount).toBeGreaterThan(3);
  const last = (await diffRuns({ script: [`${long}x`] }, { script: [`${long}y`] }, limits)).diff;
  expect(last.divergence?.a?.text).toMatchObject({ at: 1000, start: 975, length: 1001 });
});

test('a session has to exist, and an option has to be known', async () => {
  const log = memoryLog();
  const none = diffSessions(source(log, 'none'), source(log, 'none'));
  await expect(none).rejects.toMatchObject({ code: 'no_session' });
  const options = { maxText: 1 } as DiffOptions;
  const unknown = diffSessions(source(log, 'none'), source(log, 'none'), options);
  await expect(unknown).rejects.toThrow(/maxText/);
});

test('reads each record of long sessions once, page by page', async () => {
  const log = memoryLog();
  const count = isFull ? 100_000 : 20_000;
  for (const [name, last] of Object.entries({ a: 'heron', b: 'goose' })) {
    const built = new LogBuilder();
    const turns = 100;
    for (let turn = 1; turn <= turns; turn++) {
      const answer = built.at(turn).fact({ type: 'turn_started' }).at(turn, 1).request();
      const text = answer.text();
      built.take(answer);
      for (let at = 0; at < count / turns; at++) {
        text.append(turn === turns && at === 100 ? last : 'drop ');
        built.take(answer);
      }
      text.commit();
      built.take(answer);
      const end = { stop, usage: usage(1, 1) };
      built.fact({ type: 'response_finished', itemId: built.lastItem, ...end });
      built.at(turn).fact({ type: 'turn_finished', stop });
    }
    await log.restore(name, built.records);
  }
  const { through = 0 } = (await log.info('a')) ?? {};
  expect(through).toBeGreaterThan(count);
  const counted = countingLog(log);
  let tasks = 0;
  let isOver = false;
  const tick = () => {
    tasks++;
    if (!isOver) setTimeout(tick);
  };
  tick();
  const diff = await diffSessions(source(counted.log, 'a'), source(counted.log, 'b'));
  isOver = true;
  const { calls, records, bytesRead } = counted.take();
  expect(diff.divergence).toMatchObject({ cause: 'answer', turn: 100, a: { type: 'append_text' } });
  expect(records).toBe(2 * through);
  // Two calls of `info`, and one read for each page of 1 MiB.
  const pages = Math.ceil(bytesRead / 2 ** 20);
  expect(calls).toBeGreaterThanOrEqual(pages);
  expect(calls).toBeLessThanOrEqual(2 + 2 * pages);
  // Other work of the process ran during the comparison.
  expect(tasks).toBeGreaterThan(pages / 2);
});

test('25: the first difference of a long session and its branch needs few records', async () => {
  const log = memoryLog();
  const counted = countingLog(log);
  const runs = isFull ? 400 : 120;
  const script = Array.from({ length: runs }, (_, at) => `Answer ${at}`);
  const agent = createAgent({ log, provider: scriptedProvider(script) });
  for (let at = 0; at < runs - 1; at++) await agent.run(`Question ${at}`, { session: 'a' }).result;
  const { through = 0 } = (await log.info('a')) ?? {};
  await log.fork('a', { into: 'b', through });
  await agent.run('The same question', { session: 'a' }).result;
  const other = createAgent({ log, provider: scriptedProvider(['Another answer']) });
  await other.run('The same question', { session: 'b' }).result;
  const sources = [source(counted.log, 'a'), source(counted.log, 'b')] as const;
  const found = await findDivergence(...sources);
  expect(counted.take().records).toBeLessThan(through);
  expect(found).toMatchObject({ cause: 'answer', turn: runs });
  expect(found).toEqual((await diffSessions(...sources)).divergence);
});
