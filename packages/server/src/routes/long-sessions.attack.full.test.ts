import { setImmediate as nextTurn } from 'node:timers/promises';
import { DeltaWriter, type DraftRecord, itemId, randomIds } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { withMethods } from '../../../agent/src/testing/test-doubles.ts';
import { serveOpenAi } from '../testing/openai-client.ts';
import { testToken } from '../testing/servers/test-server.ts';

// A client with a token for one task adds many messages to it, and then sends small requests. Each of them read
// the whole session in one turn of the event loop, so all other clients waited for minutes.

const messages = 8000;
const operator = testToken('operator');
const ids = randomIds((bytes) => crypto.getRandomValues(bytes));

/** Counts the records that the server reads, and its replies, in one turn of the event loop. */
class ReadCounter {
  readonly log: Log;
  most = 0;
  /** The most replies in one turn. */
  mostReplies = 0;
  #now = 0;
  #replies = 0;
  #isOver = false;

  constructor(log: Log) {
    const read: Log['read'] = async (...given) => {
      const batch = await log.read(...given);
      this.#now += batch.records.length;
      this.most = Math.max(this.most, this.#now);
      return batch;
    };
    this.log = withMethods(log, { read });
  }

  addReply(): void {
    this.mostReplies = Math.max(this.mostReplies, ++this.#replies);
  }

  async count(start: () => Promise<unknown>): Promise<number> {
    [this.most, this.mostReplies] = [0, 0];
    this.#isOver = false;
    void start().finally(() => {
      this.#isOver = true;
    });
    for (; !this.#isOver; await nextTurn()) [this.#now, this.#replies] = [0, 0];
    return this.most;
  }
}

async function serveLongSession() {
  const counter = new ReadCounter(memoryLog());
  const { server } = await serveOpenAi([], { log: counter.log, server: { tokens: [operator] } });
  const send = async (token: string, method: string, path: string, body?: object) => {
    // Without connections, all requests arrive in the same turn.
    const request = new Request(`http://127.0.0.1${path}`, {
      ...{ method, ...(body && { body: JSON.stringify(body) }) },
      headers: {
        ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        accept: 'application/json, text/event-stream',
      },
    });
    const response = await server.fetch(request);
    counter.addReply();
    return { status: response.status, text: await response.text() };
  };
  const json = async (...given: Parameters<typeof send>) => JSON.parse((await send(...given)).text);
  const create = { method: 'task/create', params: { name: 'long' } };
  const { result } = await json(operator, 'POST', '/agents/name/helper/rpc', create);
  const task: string = result.id;
  await fill(counter.log, task);
  const { token: reader } = await json(operator, 'POST', '/tokens', {
    task_id: task,
    read_only: true,
  });
  const { token: writer } = await json(operator, 'POST', '/tokens', { agent_name: 'helper' });
  return { counter, send, task, reader, writer };
}

async function fill(log: Log, task: string): Promise<void> {
  const driver = await log.open(task);
  for (let done = 0; done < messages; done += 1000) {
    await driver.append(Array.from({ length: 1000 }, (_, at) => message(done + at)).flat());
  }
  await driver.release();
}

function message(index: number): readonly DraftRecord[] {
  const at = { turn: 0, attempt: 0 };
  const id = itemId(`message-${index}`);
  const writer = new DeltaWriter({ itemId: id, ...at, ids });
  writer.whole({ kind: 'text', text: 'm' });
  return [
    { ...at, fact: { type: 'item_started', itemId: id, kind: 'user' } },
    ...writer.take().map((delta) => ({ ...at, delta })),
    { ...at, fact: { type: 'item_finished', itemId: id } },
  ];
}

const call = (task: string) => ({
  ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
  params: { name: 'helper', arguments: { session_id: task } },
});
const agUi = { runId: 'r1', messages: [], tools: [], context: [], state: {}, forwardedProps: {} };

test.for([
  ['18.661', 'reader', 'GET', () => '/agents/name/helper/chat/long/stream'],
  ['18.662', 'reader', 'GET', (task: string) => `/v1/conversations/${task}`],
  ['18.663', 'reader', 'GET', (task: string) => `/v1/conversations/${task}/items?limit=1`],
  ['18.664', 'reader', 'GET', (task: string) => `/tasks/${task}/blobs/${'0'.repeat(64)}`],
  [
    ...['18.665', 'writer', 'POST', () => '/v1/responses'],
    (task: string) => ({ model: 'helper', conversation: task, input: [] }),
  ],
  ['18.666', 'writer', 'POST', () => '/mcp', call],
  [
    ...['18.667', 'writer', 'POST', () => '/agents/name/helper/ag-ui'],
    (threadId: string) => ({ threadId, ...agUi }),
  ],
] as const)(
  '%s: attack: requests of a %s read a long session in one turn: %s',
  async ([, role, method, path, body]) => {
    const { counter, send, task, ...tokens } = await serveLongSession();
    const answers: number[] = [];
    const one = async () => {
      const { status } = await send(tokens[role], method, path(task), body?.(task));
      answers.push(status);
    };
    const most = await counter.count(() => Promise.all(Array.from({ length: 5 }, one)));
    expect(answers.filter((status) => status >= 500 || status === 429)).toEqual([]);
    // A page has at most one mebibyte. The session has three records for each message.
    expect(most).toBeLessThan(messages);
  },
);

test('18.668: attack: many requests for large messages run in one turn', async () => {
  const { counter, send, task, reader } = await serveLongSession();
  const path = `/messages/paginated?task_id=${task}&limit=100`;
  const get = async () => expect((await send(reader, 'GET', path)).status).toBe(200);
  await get();
  await counter.count(() => Promise.all(Array.from({ length: 20 }, get)));
  expect(counter.mostReplies).toBe(1);
});
