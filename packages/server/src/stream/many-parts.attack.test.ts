import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { serveOpenAi } from '../testing/openai-client.ts';
import { searchStepsOf } from '../testing/servers/steps-of.ts';
import { startStreamServer } from '../testing/servers/stream-server.ts';
import { SseReader } from '../testing/sse-reader.ts';
import { updatesView } from '../updates/updates-view.ts';
import { views } from './frames/views.ts';

// A reader of one session wants a small request to stop the server for all others.

/** Creates a session with a message of many parts. Returns a function that reads its stream from the start. */
async function sessionWithParts(count: number) {
  const { url } = await serveOpenAi(['Done.']);
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify(body),
    });
  const content = Array(count).fill({ type: 'input_text', text: 'x' });
  const input = [{ role: 'user', content }];
  expect((await post('/v1/responses', { model: 'helper', input })).status).toBe(200);
  const [task] = (await (await fetch(`${url}/tasks`)).json()) as { readonly id: string }[];
  return async (view: string, last: string) => {
    const stop = new AbortController();
    const headers = { 'last-event-id': '0' };
    const { body } = await fetch(`${url}/tasks/${task?.id}/stream?view=${view}`, {
      ...{ headers, signal: stop.signal },
    });
    let text = '';
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes(last)) break;
    }
    stop.abort();
    return text;
  };
}

test('attack 18.412: the work for a stream grows with the parts of a message, and not with their square', async () => {
  const [few, many] = [await sessionWithParts(300), await sessionWithParts(600)];
  for (const [view, last] of [
    ['events', 'run_finished'],
    ['updates', 'Done.'],
  ] as const) {
    const steps = await searchStepsOf(() => few(view, last));
    expect(await searchStepsOf(() => many(view, last))).toBeLessThan(2.5 * steps);
  }
});

/** Creates a task with an open message of many summaries. Returns a function that reads its updates from the start. */
async function sessionWithSummaries(count: number) {
  const log = memoryLog();
  const onMessage = async function* () {};
  const server = createServer({
    ...{ tokens: 'none', log, agents: [{ type: 'sync', name: 'echo', onMessage }] },
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}${path}`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    return response.json() as Promise<{ readonly result: { readonly id: string } }>;
  };
  const create = { jsonrpc: '2.0', id: 1, method: 'task/create', params: {} };
  const { id } = (await post('/agents/name/echo/rpc', create)).result;
  const summary = Array.from({ length: count }, (_, at) => `summary ${at};`);
  const content = { type: 'reasoning', author: 'agent', summary, content: [] };
  await post('/messages', { task_id: id, content, streaming_status: 'IN_PROGRESS' });
  return async () => {
    const stop = new AbortController();
    const { body } = await fetch(`${url}/tasks/${id}/stream?view=updates`, {
      ...{ headers: { 'last-event-id': '0' }, signal: stop.signal },
    });
    let text = '';
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes(`summary ${count - 1};`)) break;
    }
    stop.abort();
    return text;
  };
}

test('18.1422: attack: a message with many open summaries makes each delta search all of them several times', async () => {
  const count = 400;
  const read = await sessionWithSummaries(count);
  // Each summary has two deltas, and the item is searched for the first one.
  expect(await searchStepsOf(read)).toBeLessThan(2 * count ** 2);
});

test('18.1423: attack: streams that resume at many places convert thousands of records in one turn of the event loop', async () => {
  const log = memoryLog();
  const session = sessionId('many');
  const driver = await log.open(session);
  const at = { turn: 1, attempt: 1 };
  const count = 2000;
  await driver.append([
    { ...at, attempt: 0, fact: { type: 'turn_started' } },
    { ...at, fact: { type: 'item_started', itemId: 'i' as never, kind: 'assistant' } },
    ...Array.from({ length: count }, (_, n) => ({
      ...at,
      delta: {
        ...{ type: 'commit_part', itemId: 'i', partId: `1.1.p${n}` },
        part: { kind: 'text', text: `part ${n};` },
      } as never,
    })),
  ]);
  let turn = 0;
  const countTurns = () => {
    turn += 1;
    timer = setImmediate(countTurns);
  };
  let timer = setImmediate(countTurns);
  const framesByTurn: number[] = [];
  const counted: typeof updatesView = {
    ...updatesView,
    frames: (...step) => {
      framesByTurn[turn] = (framesByTurn[turn] ?? 0) + 1;
      return updatesView.frames(...step);
    },
  };
  await using server = await startStreamServer({ log, views: { ...views, updates: counted } });
  const readers = [2, 3, 4, 5].map(
    (from) => new SseReader({ port: server.port, path: `/many?view=updates&from=${from}` }),
  );
  await Promise.all(
    readers.map((reader) =>
      reader.waitUntil(({ messages }) =>
        messages.some(({ data }) => data.includes(`part ${count - 1};`)),
      ),
    ),
  );
  clearImmediate(timer);
  for (const reader of readers) {
    reader.disconnect();
    const full = reader.messages.filter(({ data }) => data.includes('"full"'));
    expect(full.length).toBeGreaterThanOrEqual(count - 4);
  }
  // Only one of the streams continues in each turn.
  expect(Math.max(...framesByTurn.filter(() => true))).toBeLessThanOrEqual(600);
});
