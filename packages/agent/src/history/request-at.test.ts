import { attemptOf, sessionId, toArray, toolCallId, toolCallPart } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { describeModelRequest, type Provider } from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { countingLog } from '../../../log/src/testing/counting-log.ts';
import { createAgent } from '../create-agent.ts';
import { compaction, wordModel } from '../testing/message-cost-law.ts';
import { handOff } from '../tool/agent-tools.ts';
import { defineTool } from '../tool/define-tool.ts';
import { requestAt } from './request-at.ts';

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: z.object({ at: z.string() }),
  effects: 'none',
  execute: async ({ at }) => `Seen: ${at}`,
});

const call = toolCallPart(toolCallId('c1'), 'look', { at: 'it' });

async function ran(script: readonly ScriptEntry[], said: readonly string[]) {
  const log = memoryLog();
  const provider = scriptedProvider(script);
  const options = { log, tools: [look], retry: { baseDelayMs: 1 } };
  const agent = createAgent({ ...options, provider, instructions: 'Look first.' });
  const session = sessionId('s');
  for (const text of said) await agent.run(text, { session }).result;
  const at = (turn: number, attempt = 1) => requestAt(agent, session, { turn, attempt });
  return { log, provider, options, session, at };
}

const looks: ScriptEntry = { content: { parts: ['I look.', call] } };

test('each request is rebuilt as it was sent, whatever happened since', async () => {
  const { provider, at } = await ran([looks, 'It is there.', 'Yes.'], ['Is it there?', 'Sure?']);
  const sent = provider.requests.map(({ request }) => describeModelRequest(request));
  expect(sent).toHaveLength(3);
  for (const [index, one] of sent.entries()) {
    const past = await at(index + 1);
    expect(past?.described).toEqual(one);
    expect(past).toMatchObject({ turn: index + 1, attempt: 1, model: 'script' });
  }
  expect(provider.requests).toHaveLength(3);
});

test('each attempt of a retried turn has its own request', async () => {
  const fault = { type: 'error', after: 1, error: 'overloaded' } as const;
  const cut: ScriptEntry = { content: { parts: ['It is'] }, fault };
  const { provider, at } = await ran([cut, 'It is there.'], ['Is it there?']);
  const [first, second] = provider.requests.map(({ request }) => describeModelRequest(request));
  expect((await at(1, 1))?.described).toEqual(first);
  expect((await at(1, 2))?.described).toEqual(second);
});

test('an unknown attempt has none', async () => {
  const { at } = await ran(['Yes.'], ['Is it there?']);
  expect([await at(1, 2), await at(2), await at(0, 0)]).toEqual([undefined, undefined, undefined]);
});

test('the notes mention changed settings and another model', async () => {
  const { at, options, session } = await ran(['Yes.'], ['Is it there?']);
  const notes = (await at(1))?.notes ?? [];
  expect(notes).toEqual([
    expect.stringContaining('current instructions, tools and settings of the agent'),
  ]);
  const provider = scriptedProvider([], { model: 'newer' });
  const changed = createAgent({ ...options, provider, instructions: 'Guess.' });
  const past = await requestAt(changed, session, { turn: 1, attempt: 1 });
  expect(past).toMatchObject({ provider: 'scripted', model: 'script' });
  expect(past?.notes.join(' ')).toContain(
    'The request used script of scripted. This one is for newer',
  );
  expect(JSON.stringify(past?.described?.body)).toContain('Guess.');
});

test('without describe() the request is shown as the provider receives it', async () => {
  const { options, session } = await ran(['Yes.'], ['Is it there?']);
  const { describe: _none, ...silent } = scriptedProvider([]);
  const past = await requestAt(createAgent({ ...options, provider: silent }), session, {
    turn: 1,
    attempt: 1,
  });
  expect(past?.described?.body['items']).toMatchObject([{ kind: 'user' }]);
  expect(past?.notes.join(' ')).toContain('the input of the provider');
});

/** An agent whose sessions are compacted often. `sent` has the requests of its answers by turn. */
function compactedAgent(log: Log) {
  const sent = new Map<number, ReturnType<typeof describeModelRequest>>();
  const provider: Provider = {
    ...wordModel,
    stream: (request, context) => {
      sent.set(context.item.turn, describeModelRequest(request));
      return wordModel.stream(request, context);
    },
  };
  return { agent: createAgent({ log, provider, compaction }), sent };
}

test('each request of a session with many compactions is rebuilt as it was sent', async () => {
  const log = memoryLog();
  const { agent, sent } = compactedAgent(log);
  for (let run = 0; run < 40; run++) await agent.run(`Question ${run}`, { session: 's' }).result;
  let summaries = 0;
  for (const [turn, request] of sent) {
    const past = await requestAt(agent, 's', { turn, attempt: 1 });
    if (past?.described === undefined) summaries++;
    else expect(past.described, `turn ${turn}`).toEqual(request);
  }
  expect(summaries).toBeGreaterThan(3);
});

test('a request is rebuilt with all items if an old item was edited before it', async () => {
  const log = memoryLog();
  const { agent, sent } = compactedAgent(log);
  const say = () => agent.run('How is the weather?', { session: 's' }).result;
  for (let run = 0; run < 20; run++) await say();
  const { items, through } = await snapshot(log, 's');
  const partId = toArray(items)[0]?.parts[0]?.id ?? expect.fail();
  const driver = await log.open('s', { from: through });
  const delta = { type: 'retract_part', partId, reason: 'edited' } as const;
  await driver.append([{ ...attemptOf(partId), delta }]);
  await driver.release();
  await say();
  const [turn, request] = [...sent].at(-1) ?? expect.fail();
  expect((await requestAt(agent, 's', { turn, attempt: 1 }))?.described).toEqual(request);
});

test('a request after a hand-off has the settings of the agent that had the session', async () => {
  const log = memoryLog();
  const clerk = scriptedProvider(Array.from({ length: 30 }, (_, index) => `Answer ${index}`));
  const refunds = createAgent({ log, name: 'refunds', provider: clerk, instructions: 'Refund.' });
  const front = scriptedProvider([
    'Hello.',
    { content: { parts: [toolCallPart(toolCallId('c1'), 'transfer_to_refunds', {})] } },
  ]);
  const tools = [handOff({ to: refunds, description: 'For refunds' })];
  const agent = createAgent({ log, name: 'front', provider: front, tools, instructions: 'Greet.' });
  for (let run = 0; run < 30; run++) await agent.run('My order is late.', { session: 's' }).result;
  const promptOf = async (turn: number) =>
    JSON.stringify((await requestAt(agent, 's', { turn, attempt: 1 }))?.described?.body);
  for (const turn of [1, 2]) expect(await promptOf(turn)).toContain('Greet.');
  for (const turn of [3, 25]) expect(await promptOf(turn)).toContain('Refund.');
});

test('21.F law 18: the cost of a past request does not depend on the length of the session', async () => {
  const { log, take } = countingLog(memoryLog());
  const { agent, sent } = compactedAgent(log);
  const extend = async (runs: number) => {
    for (let run = 0; run < runs; run++) await agent.run('And now?', { session: 's' }).result;
  };
  /** Returns the highest cost of a request in the middle of the session. */
  const costInMiddle = async () => {
    const turns = [...sent.keys()];
    const middle = turns.slice(turns.length / 2, turns.length / 2 + 10);
    let [records, bytesRead] = [0, 0];
    for (const turn of middle) {
      take();
      await requestAt(agent, 's', { turn, attempt: 1 });
      const cost = take();
      records = Math.max(records, cost.records);
      bytesRead = Math.max(bytesRead, cost.bytesRead);
    }
    return { records, bytesRead };
  };
  await extend(40);
  const short = await costInMiddle();
  await extend(240);
  const long = await costInMiddle();
  // A binary search for the turn needs three more steps in a session that is seven times as long.
  expect(long.records).toBeLessThanOrEqual(1.25 * short.records + 300);
  expect(long.bytesRead).toBeLessThanOrEqual(1.25 * short.bytesRead + 50_000);
});

test('21.F law 18: the cost of a past request does not depend on the records after it', async () => {
  const stored = memoryLog();
  const agent = createAgent({ log: stored, provider: wordModel });
  const extend = async (runs: number) => {
    for (let run = 0; run < runs; run++) await agent.run('And now?', { session: 's' }).result;
  };
  /** Returns the cost of an early request and of the last request, in a new process. */
  const costs = async (turns: number) => {
    const { log, take } = countingLog(stored);
    const reader = createAgent({ log, provider: wordModel });
    const costAt = async (turn: number) => {
      take();
      expect((await requestAt(reader, 's', { turn, attempt: 1 }))?.described).toBeDefined();
      return take();
    };
    return { early: await costAt(5), last: await costAt(turns) };
  };
  await extend(30);
  const short = await costs(30);
  await extend(90);
  const long = await costs(120);
  // A binary search for the turn needs two more steps in a session that is four times as long.
  expect(long.early.records).toBeLessThanOrEqual(short.early.records + 300);
  expect(long.early.bytesRead).toBeLessThanOrEqual(short.early.bytesRead + 50_000);
  // Without a compaction, the last request contains all items, so all records are read once. The search for
  // the turn reads a few records in addition.
  const { through = 0 } = (await stored.info('s')) ?? {};
  expect(long.last.records).toBeGreaterThanOrEqual(through - 20);
  expect(long.last.records).toBeLessThanOrEqual(through + 2000);
});

test('22.2: a request of an agent of another copy of this package is rebuilt', async () => {
  vi.resetModules();
  const copy = await import('../create-agent.ts');
  expect(copy.createAgent).not.toBe(createAgent);
  const provider = scriptedProvider(['Yes.']);
  const agent = copy.createAgent({ log: memoryLog(), provider });
  await agent.run('Is it there?', { session: 's' }).result;
  const past = await requestAt(agent, 's', { turn: 1, attempt: 1 });
  const [sent] = provider.requests.map(({ request }) => describeModelRequest(request));
  expect(past?.described).toEqual(sent);
  const shallow = { ...agent };
  await expect(requestAt(shallow, 's', { turn: 1, attempt: 1 })).rejects.toThrow('createAgent');
});
