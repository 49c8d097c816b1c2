import { emptyState, foldBatch, type LogRecord, sessionId, transcript } from '@millrace/core';
import { exportSession, importSession, type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { diffSessions } from '../diff/diff-sessions.ts';
import { call } from '../testing/model-script.ts';
import { defineTool } from '../tool/define-tool.ts';
import { branchSession, branchSessions } from './branch-session.ts';

/** An agent with a tool that books flights. `booked` counts the executions outside of the agent. */
function desk(script: readonly ScriptEntry[], options: Partial<AgentOptions> = {}) {
  const booked: string[] = [];
  const { log = memoryLog() } = options;
  const book = defineTool({
    ...{ name: 'book', description: 'Books a flight', input: z.object({ to: z.string() }) },
    execute: async ({ to }) => {
      booked.push(to);
      return `booked ${to}`;
    },
  });
  const look = defineTool({
    ...{ name: 'look', description: 'Looks at the weather', input: z.object({}) },
    ...{ effects: 'none', execute: async () => 'sun' },
  });
  const provider = scriptedProvider(script);
  const agent = createAgent({ provider, tools: [book, look], ...options, log });
  return { agent, log, booked, provider };
}

const flights: readonly ScriptEntry[] = [
  {
    content: {
      parts: [
        'I book both.',
        call('c1', 'book', { to: 'Oslo' }),
        call('c2', 'book', { to: 'Rome' }),
      ],
    },
  },
  'Both are booked.',
];

async function recordsOf(log: Log, session: string): Promise<readonly LogRecord[]> {
  return (await log.read(session, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

async function offsetOf(log: Log, is: (record: LogRecord) => boolean): Promise<number> {
  return (await recordsOf(log, 'trip')).find(is)?.offset ?? 0;
}

async function textsOf(log: Log, session: string): Promise<readonly string[]> {
  const records = await recordsOf(log, session);
  const through = records.at(-1)?.offset ?? 0;
  const { state } = foldBatch(emptyState(sessionId(session)), { after: 0, through, records });
  return transcript(state).flatMap(({ parts }) =>
    parts.flatMap((part) => ('text' in part ? String(part.text) : [])),
  );
}

test('another result of a call continues the turn, and the other calls keep their results', async () => {
  const { agent, log, booked } = desk([...flights, 'Only Rome is booked.']);
  await agent.run('Book Oslo and Rome', { session: 'trip' }).result;
  const at = await offsetOf(log, ({ fact }) => fact?.type === 'turn_finished');
  const results = { c1: { error: 'The flight is full' } };
  const run = branchSession(agent, 'trip', { at, into: 'full', results });
  expect(await run.text()).toBe('Only Rome is booked.');
  expect(booked).toEqual(['Oslo', 'Rome']);
  expect(await textsOf(log, 'full')).toEqual([
    ...['Book Oslo and Rome', 'I book both.', 'The flight is full', 'booked Rome'],
    'Only Rome is booked.',
  ]);
  const { divergence } = await diffSessions({ log, session: 'trip' }, { log, session: 'full' });
  expect(divergence).toMatchObject({ cause: 'tool_result', call: { name: 'book' } });
});

test('a call runs again only if it is named', async () => {
  const { agent, log, booked } = desk([...flights, 'Done.', 'Done.']);
  await agent.run('Book Oslo and Rome', { session: 'trip' }).result;
  const at = await offsetOf(log, ({ fact }) => fact?.type === 'response_finished');
  await branchSession(agent, 'trip', { at }).result;
  expect(booked).toEqual(['Oslo', 'Rome']);
  await branchSession(agent, 'trip', { at, rerun: ['c2'] }).result;
  expect(booked).toEqual(['Oslo', 'Rome', 'Rome']);
});

test('a call that ran before its answer was complete gets another result', async () => {
  const parts = [call('c1', 'look', {}), call('c2', 'book', { to: 'Oslo' })];
  const { agent, log, booked } = desk([{ content: { parts } }, 'Sunny.', 'Rainy.']);
  await agent.run('How is Oslo?', { session: 'trip' }).result;
  const at = await offsetOf(log, ({ fact }) => fact?.type === 'tool_execution_finished');
  expect(at).toBeLessThan(await offsetOf(log, ({ fact }) => fact?.type === 'response_finished'));
  const results = { c1: { output: 'rain' } };
  expect(await branchSession(agent, 'trip', { at, into: 'b', results }).text()).toBe('Rainy.');
  expect(booked).toEqual(['Oslo']);
  expect(await textsOf(log, 'b')).toEqual(['How is Oslo?', 'rain', 'booked Oslo', 'Rainy.']);
});

test('a message is replaced, and an answer is interrupted, by another input', async () => {
  const { agent, log } = desk([...flights, 'To Bergen.', 'Then Rome only.']);
  await agent.run('Book Oslo and Rome', { session: 'trip' }).result;
  await branchSession(agent, 'trip', { at: 3, into: 'other', input: 'Book Bergen' }).result;
  expect(await textsOf(log, 'other')).toEqual(['Book Bergen', 'To Bergen.']);
  const at = await offsetOf(log, ({ delta }) => delta?.type === 'append_text' && delta.at === 5);
  await branchSession(agent, 'trip', { at, into: 'stopped', input: 'Only Rome' }).result;
  const texts = await textsOf(log, 'stopped');
  expect(texts).toEqual(['Book Oslo and Rome', 'I book', 'Only Rome', 'Then Rome only.']);
});

test('several models answer at the same time, and the diff names the model', async () => {
  const { agent, log } = desk(flights);
  await agent.run('Book Oslo and Rome', { session: 'trip' }).result;
  const at = await offsetOf(log, ({ fact }) => fact?.type === 'turn_finished');
  const models = ['small', 'large'];
  const runs = branchSessions(
    agent,
    'trip',
    models.map((model) => ({
      ...{ at, into: model, provider: scriptedProvider([`I am ${model}.`], { model }) },
    })),
  );
  expect(await Promise.all(runs.map((run) => run.text()))).toEqual(['I am small.', 'I am large.']);
  const { divergence } = await diffSessions({ log, session: 'trip' }, { log, session: 'small' });
  expect(divergence).toMatchObject({ cause: 'setting', b: { value: { model: 'small' } } });
  expect(divergence?.message).toContain('Only b has another model');
  const sibling = await diffSessions({ log, session: 'small' }, { log, session: 'large' });
  expect(sibling.divergence).toMatchObject({ cause: 'setting', field: 'model' });
  expect(() => branchSessions(agent, 'trip', Array(65).fill({ at }))).toThrow('the maximum is 64');
});

test('other instructions stay in the branch, also for another process', async () => {
  const { agent, log } = desk(flights, { instructions: 'Be polite.' });
  await agent.run('Book Oslo and Rome', { session: 'trip' }).result;
  const branch = { at: 4, into: 'brief', instructions: 'Be brief.', model: 'tiny' } as const;
  const models: (string | undefined)[] = [];
  const later = desk(['Yes.', 'No.', 'Other.'], {
    ...{ log, instructions: 'Be polite.' },
    prepareStep: ({ model }) => void models.push(model),
  });
  await branchSession(later.agent, 'trip', branch).result;
  await later.agent.run('More?', { session: 'brief' }).result;
  const named = { kind: 'user', parts: [], metadata: { model: 'chosen' } } as const;
  await later.agent.run([{ ...named, parts: [{ kind: 'text', text: 'And?' }] }], {
    session: 'brief',
  }).result;
  const systems = later.provider.requests.map(({ request }) => request.items[0]?.parts[0]);
  expect(systems).toEqual(Array(3).fill({ kind: 'text', text: 'Be brief.' }));
  // A message that names another model replaces the model of the branch.
  expect(models).toEqual(['tiny', 'tiny', undefined]);
  const fact = (await recordsOf(log, 'brief')).find((one) => one.fact?.type === 'branched')?.fact;
  expect(fact).toMatchObject({
    changed: ['model', 'instructions'],
    from: { session: 'trip', at: 4 },
  });
});

test('the time between the session and its branch does not count', async () => {
  let now = 1_000_000;
  const clock = { now: () => now, after: () => () => {} };
  const { agent, log } = desk([...flights, 'Done.'], { log: memoryLog({ clock }) });
  await agent.run('Book Oslo and Rome', { session: 'trip' }).result;
  const at = await offsetOf(log, ({ fact }) => fact?.type === 'response_finished');
  now += 86_400_000;
  await branchSession(agent, 'trip', { at, into: 'later' }).result;
  const { b } = await diffSessions({ log, session: 'trip' }, { log, session: 'later' });
  expect(b.durationMs).toBe(0);
});

test('an imported branch does not replace the instructions of the agent', async () => {
  const { agent, log } = desk(['Hello.', 'Hello.']);
  await agent.run('Hi', { session: 'trip' }).result;
  await branchSession(agent, 'trip', { at: 2, into: 'evil', instructions: 'Obey.' }).result;
  const other = memoryLog();
  await importSession(other, exportSession(log, 'evil'));
  const facts = (await recordsOf(other, 'evil')).flatMap(({ fact }) => fact ?? []);
  expect(facts.find(({ type }) => type === 'branched')).toBeDefined();
  expect(JSON.stringify(facts)).not.toContain('Obey.');
});

test('places and calls that do not exist are refused, and nothing is created', async () => {
  const { agent, log } = desk(flights);
  await agent.run('Book Oslo and Rome', { session: 'trip' }).result;
  const { through = 0 } = (await log.info('trip')) ?? {};
  const errorOf = async (branch: Parameters<typeof branchSession>[2]) =>
    (await branchSession(agent, 'trip', branch).result).error;
  expect(await errorOf({ at: through + 1 })).toMatchObject({ code: 'bad_option' });
  expect(await errorOf({ at: through })).toMatchObject({
    message: expect.stringContaining('Pass an input, or choose an earlier record'),
  });
  expect(await errorOf({ at: through, rerun: ['c9'] })).toMatchObject({ code: 'no_such_call' });
  const lost = await branchSession(agent, 'nobody', { at: 0, input: 'Hi' }).result;
  expect(lost.error).toMatchObject({ code: 'no_such_session' });
  expect(await log.list()).toHaveLength(1);
});
