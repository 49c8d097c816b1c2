import { type Log, memoryLog } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { ScopeServer } from '../testing/scope-requests.ts';

// A client with a token for one agent sends large batches of messages on many connections at once. All others wait.

const tasks = 12;
const messages = 64;

/** Counts the records that the server appends in each turn of the event loop. */
function countedLog() {
  const log = memoryLog();
  const perTurn: number[] = [];
  let turn = 0;
  const countTurns = () => {
    turn += 1;
    timer = setImmediate(countTurns);
  };
  let timer = setImmediate(countTurns);
  onTestFinished(() => clearImmediate(timer));
  const open: Log['open'] = async (...given) => {
    const driver = await log.open(...given);
    const append: typeof driver.append = (records, ...more) => {
      perTurn[turn] = (perTurn[turn] ?? 0) + records.length;
      return driver.append(records, ...more);
    };
    return new Proxy(driver, {
      get(target, name) {
        if (name === 'append') return append;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  const counted = new Proxy(log, {
    get(target, name) {
      if (name === 'open') return open;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { log: counted, perTurn };
}

test('18.1537: attack: a client sends batches of messages for many tasks at once', async () => {
  const { log, perTurn } = countedLog();
  const server = await ScopeServer.start({ log });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { id: agent } = await server.asOperator('GET', '/agents/name/own');
  const token = await server.createToken({ agent_id: agent });
  const send = async (method: string, body: object) => {
    const response = await fetch(new URL('/messages/batch', server.url), {
      ...{ method, body: JSON.stringify(body) },
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    expect(response.status).toBe(200);
    return (await response.json()) as { readonly id: string }[];
  };
  const text = (content: string) => ({ type: 'text', author: 'user', content });
  const ids: string[] = [];
  for (let at = 0; at < tasks; at++) {
    const create = { method: 'task/create', params: { name: `task ${at}` } };
    ids.push((await server.asOperator('POST', `/agents/${agent}/rpc`, create)).result.id);
  }
  const contents = Array.from({ length: messages }, (_, at) => text(`old ${at}`));
  const created = await Promise.all(ids.map((task_id) => send('POST', { task_id, contents })));
  // In each turn of the event loop, only one batch of the client is written. A message has three records.
  expect(mostOf(perTurn)).toBe(3 * messages);
  perTurn.length = 0;
  await Promise.all(
    created.map((list, at) => {
      const updates = Object.fromEntries(list.map(({ id }) => [id, text('new')]));
      return send('PUT', { task_id: ids[at], updates });
    }),
  );
  // One append edits 16 messages.
  expect(mostOf(perTurn)).toBeLessThanOrEqual(4 * 16);
});

function mostOf(counts: readonly number[]): number {
  return Math.max(...counts.filter(() => true));
}
