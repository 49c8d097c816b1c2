import { type DraftRecord, itemId, sessionId, toArray } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import { countingLog } from '../../../log/src/testing/counting-log.ts';
import { findPlace } from '../routes/openai/fork-response.ts';
import { serveOpenAi } from '../testing/openai-client.ts';
import { testToken } from '../testing/servers/test-server.ts';
import { lastItem } from './fork-task.ts';

// A client that can create tasks forks a long session again and again.

/** Adds short messages to a session. Each message has two records. */
async function addMessages(log: Log, session: string, count: number): Promise<void> {
  const drafts = Array.from({ length: count }, (_, at): readonly DraftRecord[] => {
    const id = itemId(`old-${at}`);
    const facts = [
      { type: 'item_started', itemId: id, kind: 'user' },
      { type: 'item_finished', itemId: id },
    ] as const;
    return facts.map((fact) => ({ turn: 0, attempt: 0, fact }));
  });
  const driver = await log.open(session, { takeOver: true });
  await driver.append(drafts.flat());
  await driver.release();
}

test('18.460: attack: a fork reads few records to find the last common item', async () => {
  const { log, take } = countingLog(memoryLog());
  const session = sessionId('long');
  await addMessages(log, session, 2000);
  take();
  expect(await lastItem(log, session, 3000)).toBe('old-1499');
  expect(take().records).toBeLessThan(2000);
  await log.close();
});

test('18.461: the last common item of a fork is the last item of the state at its place', async () => {
  const numbers = fc.array(fc.nat(), { minLength: 20, maxLength: 200, size: 'max' });
  await fc.assert(
    fc.asyncProperty(numbers, fc.nat(), async (choices, place) => {
      const log = memoryLog();
      const session = sessionId('any');
      await log.restore(session, randomLog(choices));
      const { through: end = 0 } = (await log.info(session)) ?? {};
      const through = place % (end + 1);
      const { items } = await snapshot(log, session, { through });
      expect(await lastItem(log, session, through)).toBe(toArray(items).at(-1)?.id ?? null);
      await log.close();
    }),
    { numRuns: runs(1000) },
  );
});

test('18.462: attack: a fork by previous_response_id reads the later records at most once', async () => {
  const { client, log } = await serveOpenAi(['One.', 'Two.']);
  const ask = (input: string, previous_response_id: string | null) =>
    client.responses.create({ model: 'helper', input, previous_response_id });
  const first = await ask('First', null);
  const taskId = first.conversation?.id ?? '';
  await addMessages(log, taskId, 2000);
  expect((await ask('Second', first.id)).conversation?.id).toBe(taskId);
  // A copy of the log counts only the reads of the request, and not those of the running agent.
  const { log: counted, take } = countingLog(memoryLog());
  const { records } = await log.read(taskId, { maxBytes: Number.POSITIVE_INFINITY });
  await counted.restore(taskId, records);
  take();
  const context = { log: counted, headers: {}, trace: undefined, copies: undefined };
  const { fork } = await findPlace({ taskId, previous: first.id, entries: [] }, context);
  expect(fork?.through).toBeLessThan(100);
  expect(take().records).toBeLessThan(6000);
  await counted.close();
});

test('18.463: attack: a caller without full access has one fork at a time', async () => {
  const log = memoryLog();
  const root = testToken('root');
  const script = Array.from({ length: 9 }, (_, at) => `Answer ${at}.`);
  const { clientWith, url } = await serveOpenAi(script, {
    ...{ log, server: { tokens: [root] } },
  });
  const post = (token: string, path: string, body: object) =>
    fetch(`${url}${path}`, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
  const ask = (token: string, input: string, previous_response_id: string | null) =>
    clientWith(token).responses.create({ model: 'helper', input, previous_response_id });
  const first = await ask(root, 'First', null);
  await ask(root, 'Second', first.id);
  const task = first.conversation?.id ?? '';
  const agents = await fetch(`${url}/agents`, { headers: { authorization: `Bearer ${root}` } });
  const [agent] = (await agents.json()) as readonly { readonly id: string }[];
  const made = await post(root, '/tokens', { agent_id: agent?.id });
  const { token } = (await made.json()) as { readonly token: string };

  // The copies wait until the test releases them.
  const released = Promise.withResolvers<void>();
  const fork = log.fork.bind(log);
  let forks = 0;
  log.fork = async (...args) => {
    forks++;
    await released.promise;
    return fork(...args);
  };
  const held = ask(token, 'Third', first.id);
  await expect.poll(() => forks).toBe(1);
  const refused = await Promise.all([
    post(token, `/tasks/${task}/fork`, {}),
    post(token, `/tasks/${task}/branch`, { at: 1 }),
  ]);
  expect(refused.map(({ status }) => status)).toEqual([429, 429]);
  expect(refused[0]?.headers.get('retry-after')).toBe('1');
  await expect(ask(token, 'Fourth', first.id)).rejects.toMatchObject({ status: 429 });
  // The limit does not apply to an operator.
  const operated = post(root, `/tasks/${task}/fork`, {});
  await expect.poll(() => forks).toBe(2);
  released.resolve();
  expect((await held).conversation?.id).not.toBe(task);
  expect((await operated).status).toBe(201);
  // The next fork of the caller starts after the end of the fork before.
  expect((await post(token, `/tasks/${task}/fork`, {})).status).toBe(201);
});
