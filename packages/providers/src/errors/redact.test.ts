import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Completion } from '../contract/provider.ts';
import type { ChatOptions } from '../openai-chat/options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import {
  jsonReply,
  type Reply,
  type ScriptedServer,
  startScriptedServer,
  streamReply,
} from '../scripted-server/index.ts';
import { sseText, textEvent } from '../testing/chat-events.ts';
import { helloItems } from '../testing/hello-items.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { Wire } from '../wire/wire.ts';
import { wireProvider } from '../wire/wire-provider.ts';

const clock = new VirtualClock();
let server: ScriptedServer;
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(() => server.close());

/** It does not match any known key format. */
const key = 'zanzibar/tulip+31415==';
/** Other characters that a key can contain. */
const oddKey = 'zanzibar "tulip" \\31415';

const chat = (options: Partial<ChatOptions> = {}) =>
  openaiChat({ model: 'm', baseUrl: server.url, apiKey: key, clock, ...options });

async function failed(reply: Reply, options: Partial<ChatOptions> = {}): Promise<Completion> {
  server.reply(reply);
  return chat(options).complete({ items: helloItems });
}

/** Everything that a program could print of an error. */
function shown({ error, stop }: Completion): string {
  expect(error).toBeDefined();
  const causes: unknown[] = [];
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    causes.push(cause.message, cause.stack, String(cause), { ...cause });
  }
  return [
    inspect(error, { depth: Infinity, showHidden: true }),
    inspect(causes, { depth: Infinity, showHidden: true }),
    JSON.stringify([error, error?.info, error?.place, causes, stop]),
  ].join('\n');
}

/** Checks that no useful fragment of the key is left. */
function expectNoKey(completion: Completion, secret = key): void {
  const text = shown(completion);
  for (const form of [secret, secret.trim(), encodeURIComponent(secret)]) {
    expect(text).not.toContain(form);
  }
  expect(text).not.toContain('tulip');
  expect(text).not.toContain('zanzibar');
}

describe('the key is removed from errors that quote it', () => {
  test.each<[string, Reply]>([
    ['in a message', jsonReply(401, { error: { message: `Bad key ${key}!` } })],
    ['in a header line', jsonReply(401, { error: { message: `Bad: Bearer ${key}` } })],
    ['in a code', jsonReply(401, { error: { message: 'no', code: key } })],
    ['in a type', jsonReply(401, { error: { message: 'no', type: `bad_${key}` } })],
    ['in any field', jsonReply(500, { error: { key, url: `?key=${encodeURIComponent(key)}` } })],
    ['in a flat body', jsonReply(401, { message: `Bad key ${key}` })],
    ['in metadata', jsonReply(401, { error: { message: 'no', metadata: { raw: key } } })],
    ['in the id of the request', jsonReply(401, { request_id: key, error: { message: 'no' } })],
    ['in a detail', jsonReply(401, { error: { message: 'no', details: [{ reason: key }] } })],
    ['in text', { status: 500, steps: [`Bad key ${key}`] }],
    ['in the title of a page', { status: 500, steps: [`<title>Bad ${key}</title>`] }],
    ['in a header', jsonReply(401, { error: { message: 'no' } }, { 'x-request-id': key })],
    [
      'in the status line',
      { raw: [`HTTP/1.1 401 Bad key ${key}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`] },
    ],
    ['in a stream', streamReply([sseText(textEvent('a'), `{"error":{"message":"Bad ${key}"}}`)])],
    ['in a stream, as a code', streamReply([sseText(`{"error":{"message":"x","code":"${key}"}}`)])],
    ['in an event', streamReply([`event: error\ndata: Bad ${key}\n\n`])],
    ['in a field', streamReply([`error: Bad ${key}\n\n`])],
    ['in a tail', streamReply([`{"error":"Bad ${key}"}`])],
    ['in what is no JSON', streamReply([sseText(`Bad ${key}`)])],
    ['in a whole answer', jsonReply(200, { error: `Bad ${key}` })],
  ])('%s', async (_, reply) => {
    expectNoKey(await failed(reply));
  });

  test('and no half of it is left', async () => {
    for (let before = 470; before <= 500; before++) {
      const text = `${'x'.repeat(before)}${key} and more of it`;
      expectNoKey(await failed({ status: 500, steps: [text] }));
      expectNoKey(await failed(jsonReply(500, { error: { message: text } })));
    }
  });

  test('18.1427: attack: a key is cut in a title or in a body, or is in the host of a redirect', async () => {
    const simple = 'Zq7Xw93kLmN4pRt8VbYc2HdF';
    const pieces = [simple.slice(0, 8), simple.slice(-8)].flatMap((one) => [
      one,
      one.toLowerCase(),
    ]);
    const replies: Reply[] = [
      ...[170, 180, 190, 490].map((before) => ({
        ...{ status: 502, steps: [`<html><title>${'x'.repeat(before)}${simple}</title>`] },
      })),
      { status: 500, steps: [`${' '.repeat(2 ** 16 - 12)}${simple}`, 'and more'] },
      {
        ...{ status: 302, steps: [] },
        headers: { location: `https://${simple}.example/${simple}?${simple}` },
      },
    ];
    for (const reply of replies) {
      const text = shown(await failed(reply, { apiKey: simple }));
      for (const piece of pieces) expect(text).not.toContain(piece);
    }
  });

  test('nor is one that has quotes, or white space around it', async () => {
    const trimmed = `  ${key}\n`;
    const reply = jsonReply(401, { error: { message: `Bad ${key}`, code: key } });
    expectNoKey(await failed(reply, { apiKey: trimmed }), trimmed);
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer   ${key}`);
    const body = { error: { said: oddKey } };
    expectNoKey(await failed(jsonReply(401, body), { apiKey: oddKey }), oddKey);
  });

  test('and so are other keys of a known format', async () => {
    const others = [
      'sk-proj-abcdefghijklmnop',
      'sk-ant-api03-abcdefgh',
      'AIzaSyA1234567890abcdefghij',
      'gsk_abcdefghijkl',
      'xai-abcdefghijkl',
    ];
    for (const other of others) {
      const text = shown(await failed(jsonReply(401, { error: { message: `Bad key ${other}.` } })));
      expect(text).not.toContain(other);
      expect(text).toContain('[redacted]');
    }
  });

  test('nor is one that a caller put into a header', async () => {
    const options = { headers: { 'x-gateway-token': key, authorization: `Basic ${key}` } };
    const reply = jsonReply(403, { error: { message: `Bad ${key}` } });
    expectNoKey(await failed(reply, { ...options, apiKey: undefined }));
  });

  test('nor is one that a caller put into the URL', async () => {
    const baseUrl = `${server.url}/v1?api_key=${encodeURIComponent(key)}&x=`;
    const reply = jsonReply(403, { error: { message: `Bad ${key} ${encodeURIComponent(key)}` } });
    expectNoKey(await failed(reply, { baseUrl, apiKey: undefined }));
  });

  test('but short header values are not secrets', async () => {
    const reply = jsonReply(400, { error: { message: 'The user is unknown' } });
    const { error } = await failed(reply, { headers: { 'x-auth-mode': 'user' } });
    expect(error?.message).toContain('The user is unknown');
  });
});

describe('a short key', () => {
  const quoted = jsonReply(401, {
    error: { message: 'No key opal; opals are no jewels. Is it x?' },
  });

  test('is redacted as a separate word', async () => {
    const { error } = await failed(quoted, { apiKey: 'opal' });
    expect(error?.message).toContain('No key [redacted]; opals are');
  });

  test('is not redacted if it is a placeholder', async () => {
    const { error } = await failed(quoted, { apiKey: 'x' });
    expect(error?.message).toContain('Is it x?');
  });

  test('can contain characters of a regular expression', async () => {
    const reply = jsonReply(401, { error: { message: 'No key (a+b) here' } });
    const { error } = await failed(reply, { apiKey: '(a+b)' });
    expect(error?.message).toContain('No key [redacted] here');
  });
});

describe('the key is removed from network errors and their causes', () => {
  const failing = (error: unknown) => chat({ fetch: () => Promise.reject(error) });

  test('if the message contains it', async () => {
    const cause = Object.assign(new Error(`connect to https://x/?key=${key}`), {
      code: `E_${key}`,
      url: `https://x/?key=${encodeURIComponent(key)}`,
      request: { headers: { authorization: `Bearer ${key}` } },
    });
    const error = new TypeError(`fetch failed: Bearer ${key}`, { cause });
    error.name = `Error of ${key}`;
    const completion = await failing(error).complete({ items: helloItems });
    expect(completion.error?.kind).toBe('network');
    expectNoKey(completion);
    expect(shown(completion)).toContain('connect to https://x/?key=[redacted]');
  });

  test('if the thrown value is a string, or has endless causes', async () => {
    expectNoKey(await failing(`no ${key}`).complete({ items: helloItems }));
    const round: Error = new Error(`round ${key}`);
    round.cause = round;
    expectNoKey(await failing(round).complete({ items: helloItems }));
  });

  test('if fetch quotes the URL that contains it', async () => {
    const baseUrl = server.url.replace('//', `//user:${encodeURIComponent(key)}@`);
    const completion = await chat({ baseUrl, apiKey: undefined }).complete({ items: helloItems });
    expect(completion.error?.message).toContain('includes credentials');
    expectNoKey(completion);
  });

  test('if fetch quotes the header that contains it', async () => {
    for (const bad of [`${key}\n${key}`, `${key}€`]) {
      expectNoKey(await chat({ apiKey: bad }).complete({ items: helloItems }), bad);
    }
  });

  test('if the error of the body contains it', async () => {
    const body = new ReadableStream({
      pull: (controller) => controller.error(new Error(`terminated ${key}`)),
    });
    const completion = await chat({ fetch: async () => new Response(body) }).complete({
      items: helloItems,
    });
    expect(completion.error?.kind).toBe('network');
    expectNoKey(completion);
  });

  test('if the error of the reader contains it', async () => {
    const wire: Wire = {
      provider: 'odd',
      model: 'm',
      http: () => ({ url: server.url, headers: {}, body: {}, secrets: [key] }),
      reader: () => ({
        progress: 'reading',
        details: {},
        finish: () => expect.unreachable(),
        readWholeBody: () => expect.unreachable(),
        readMessage: () => {
          throw new RangeError(`odd ${key}`);
        },
      }),
    };
    server.reply(streamReply([sseText('{}')]));
    const completion = await wireProvider(wire, { clock }).complete({ items: helloItems });
    expect(completion.error?.kind).toBe('protocol_error');
    expect(completion.error?.cause).toMatchObject({ message: 'odd [redacted]' });
    expectNoKey(completion);
  });
});

test('an error contains no part of the request', async () => {
  server.reply({ status: 500, steps: ['no'] });
  const completion = await chat({ headers: { 'x-team': 'flamingo' } }).complete({
    items: helloItems,
    providerOptions: { 'openai-compatible': { user: 'flamingo' } },
  });
  expect(shown(completion)).not.toContain('flamingo');
});
