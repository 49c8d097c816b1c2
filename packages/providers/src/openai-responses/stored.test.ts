import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Item, itemId, type JsonObject } from '@millrace/core';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { objectsIn, textIn } from '../json/fields.ts';
import { wireEvents } from '../scripted-server/index.ts';
import type { ResponsesOptions } from './options.ts';
import { openaiResponses } from './provider.ts';

/**
 * Returns the content of an item that the model sees, without ids and other fields that only servers need.
 */
function seen(item: JsonObject): string {
  const texts = objectsIn(item, 'content').map((part) => textIn(part, 'text') ?? '');
  const { role = 'assistant', type, name, arguments: given, output, call_id: call } = item;
  if (type === 'function_call') return JSON.stringify(['call', call, name, given]);
  if (type === 'function_call_output') return JSON.stringify(['result', call, output]);
  return JSON.stringify([role, texts.join('')]);
}

/** A server that stores responses, as OpenAI does. */
class StoringServer {
  /** For each stored response, everything that the model saw and said. */
  readonly contexts = new Map<string, readonly string[]>();
  /** The content that the model saw in each accepted request. */
  readonly views: (readonly string[])[] = [];
  readonly sizes: number[] = [];
  refusals = 0;
  #count = 0;

  answer(body: JsonObject, hasCall: boolean): readonly string[] | undefined {
    const previous = textIn(body, 'previous_response_id');
    const before = previous === undefined ? [] : this.contexts.get(previous);
    if (before === undefined) {
      this.refusals++;
      return undefined;
    }
    const input = objectsIn(body, 'input');
    const view = [...before, ...input.map(seen)];
    this.views.push(view);
    this.sizes.push(input.length);
    const id = `r${++this.#count}`;
    const call = { id: `call_${id}`, name: 'look', arguments: `{"at":${this.#count}}` };
    const lines = wireEvents('openai-responses', {
      ...{ id, text: `Answer ${id}` },
      ...(hasCall && { toolCalls: [call] }),
    }).map(String);
    const { response } = JSON.parse(lines.at(-1) ?? '') as { response: JsonObject };
    this.contexts.set(textIn(response, 'id') ?? '', [
      ...view,
      ...objectsIn(response, 'output').map(seen),
    ]);
    return lines;
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => unknown;

async function listen(handle: Handler): Promise<string> {
  const server = createServer(async (request, response) => {
    handle(request, response, Buffer.concat(await request.toArray()).toString());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const stream = { 'content-type': 'text/event-stream' };
const provider = (baseUrl: string, options: Partial<ResponsesOptions>) =>
  openaiResponses({ preset: 'openai', model: 'gpt-5.5', apiKey: 'sk-test', baseUrl, ...options });
const said = (id: string, text: string): Item => ({
  ...{ id: itemId(id), kind: 'user' },
  parts: [{ kind: 'text', text }],
});

const step = fc.record({
  hasCall: fc.boolean(),
  /** The event before the request. */
  before: fc.constantFrom('nothing', 'nothing', 'nothing', 'forget', 'compact', 'edit', 'steer'),
});

test('sendsOnlyNew: the model sees the same as with the whole history, whatever happens', async () => {
  let server = new StoringServer();
  let hasCall = false;
  const url = await listen((_request, response, text) => {
    const lines = server.answer(JSON.parse(text), hasCall);
    if (lines === undefined) {
      const error = { code: 'previous_response_not_found', message: 'Not found', type: 'x' };
      return response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error }));
    }
    return response.writeHead(200, stream).end(lines.map((line) => `data: ${line}\n\n`).join(''));
  });
  let shorter = 0;
  let lost = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
      server = new StoringServer();
      const continued = provider(url, { sendsOnlyNew: true });
      const whole = provider(url, { store: true });
      let items: Item[] = [said('system', 'Be brief'), said('u0', 'Begin')];
      for (const [index, { hasCall: calls, before }] of steps.entries()) {
        hasCall = calls;
        if (before === 'forget') server.contexts.clear();
        if (before === 'steer') items.push(said(`s${index}`, `Steer ${index}`));
        if (before === 'compact') items = [said(`c${index}`, 'A summary'), ...items.slice(-1)];
        if (before === 'edit')
          items = items.map((item, at) => (at === 1 ? said(item.id, `Edited ${index}`) : item));
        const { item, error } = await continued.complete({ items });
        expect(error).toBeUndefined();
        const bodyOf = whole.describe?.({ items })?.body ?? {};
        const expected = objectsIn(bodyOf, 'input').map(seen);
        expect(server.views.at(-1)).toEqual(expected);
        if ((server.sizes.at(-1) ?? 0) < expected.length) shorter++;
        items = [...items, item, ...resultsFor(item, index)];
      }
      lost += server.refusals;
    }),
    { numRuns: runs(300) },
  );
  expect(shorter).toBeGreaterThan(0);
  expect(lost).toBeGreaterThan(0);
});

/** A result for each call, or else a message of the user. */
function resultsFor({ parts: answer }: Item, index: number): readonly Item[] {
  const calls = answer.flatMap((part) => (part.kind === 'tool_call' ? part : []));
  if (calls.length === 0) return [said(`u${index + 1}`, `Go on ${index}`)];
  const parts = calls.map(({ toolCallId, name }) => ({
    ...{ kind: 'tool_result' as const, toolCallId, name, text: `Seen ${index}`, isError: false },
  }));
  return [{ id: itemId(`t${index}`), kind: 'tool', parts }];
}

const lines = wireEvents('openai-responses', {
  id: 'b',
  text: 'A long answer in small pieces',
}).map(String);

test('background: a connection that breaks anywhere is read on, and nothing is lost or doubled', async () => {
  let cuts: number[] = [];
  const asked: string[] = [];
  const url = await listen((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    asked.push(`${request.method} ${pathname}`);
    const from = Number(searchParams.get('starting_after') ?? -1) + 1;
    const cut = cuts.shift() ?? lines.length;
    if (cut < 0 && from > 0) return request.socket.destroy();
    // The first connection sends at least the id of the response.
    const count = Math.max(cut, from === 0 ? 1 : 0);
    const sent = lines.slice(from, from + count).map((line) => `data: ${line}\n\n`);
    response.writeHead(200, stream);
    const isWhole = from + count >= lines.length;
    // A piece of the next event is cut off.
    const rest = isWhole ? '' : `data: ${lines[from + count]}`.slice(0, 20);
    return response.write(sent.join('') + rest, () =>
      isWhole ? response.end() : response.destroy(),
    );
  });
  let resumed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: -1, max: 4 }), { maxLength: 5 }), async (given) => {
      cuts = [...given];
      asked.length = 0;
      const clock = { now: () => Date.now(), after: soon };
      const reading = provider(url, { background: true, clock });
      const { text, error, stop } = await reading.complete({ items: [said('u', 'Hello')] });
      expect(error).toBeUndefined();
      expect([text, stop.reason]).toEqual(['A long answer in small pieces', 'stop']);
      expect(asked[0]).toBe('POST /responses');
      expect(new Set(asked.slice(1))).toEqual(
        new Set(asked.length > 1 ? ['GET /responses/resp_b'] : []),
      );
      resumed += asked.length - 1;
    }),
    { numRuns: runs(200) },
  );
  expect(resumed).toBeGreaterThan(0);
});

/** Waits before a new connection take no time. Timeouts stay as they are. */
function soon(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms < 60_000 ? 0 : ms);
  return () => clearTimeout(timer);
}

test('background: an abort stops the response at the server', async () => {
  const cancelled = Promise.withResolvers<string>();
  const url = await listen((request, response) => {
    if (request.url?.endsWith('/cancel')) {
      cancelled.resolve(`${request.method} ${request.url}`);
      return response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    }
    return response.writeHead(200, stream).write(
      lines
        .slice(0, 6)
        .map((line) => `data: ${line}\n\n`)
        .join(''),
    );
  });
  const controller = new AbortController();
  const { stop } = await provider(url, { background: true }).complete(
    { items: [said('u', 'Hello')] },
    { signal: controller.signal, onStep: () => controller.abort() },
  );
  expect(stop.reason).toBe('aborted');
  expect(await cancelled.promise).toBe('POST /responses/resp_b/cancel');
});

test('background: without a background a broken connection stays broken', async () => {
  const asked: string[] = [];
  const url = await listen((request, response) => {
    asked.push(request.method ?? '');
    const sent = lines.slice(0, 6).map((line) => `data: ${line}\n\n`);
    response.writeHead(200, stream).write(sent.join(''), () => response.destroy());
  });
  const { error } = await provider(url, {}).complete({ items: [said('u', 'Hello')] });
  expect(error?.kind).toBe('network');
  expect(error?.message).toMatch(/ broke off its answer: the connection was lost.*\. Try again$/);
  expect(asked).toEqual(['POST']);
});
