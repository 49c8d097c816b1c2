import { constants, gzipSync } from 'node:zlib';
import { countingIds } from '@millrace/core';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runs, someOf } from '../../../core/src/testing/runs.ts';
import type { Completion } from '../contract/provider.ts';
import type { ChatOptions } from '../openai-chat/options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import {
  inLockstep,
  jsonReply,
  newGate,
  type Reply,
  type ScriptedServer,
  type Step,
  splitAt,
  splitEvery,
  startScriptedServer,
  streamReply,
} from '../scripted-server/index.ts';
import {
  completion,
  finishEvent,
  sseText,
  textEvent,
  toolCallEvent,
  usageEvent,
} from '../testing/chat-events.ts';
import { createControlledBody } from '../testing/controlled-body.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import { helloItems } from '../testing/hello-items.ts';
import { openStream } from '../testing/open-stream.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

// The stream rules that all providers share, tested through a real provider.

let server: ScriptedServer;
let clock: VirtualClock;
beforeEach(async () => {
  server = await startScriptedServer();
  clock = new VirtualClock();
});
afterEach(async () => {
  await server.close();
  expect(clock.pending).toBe(0);
});

const chat = (options: Partial<ChatOptions> = {}) =>
  openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'test-key-of-nobody', clock, ...options });

const complete = (options?: Partial<ChatOptions>) =>
  chat(options).complete({ items: helloItems }, { ids: countingIds() });

/** The completion of these bytes in one read. */
const completeBytes = (
  bytes: string | Uint8Array,
  headers: Readonly<Record<string, string>> = { 'content-type': 'text/event-stream' },
  options: Partial<ChatOptions> = {},
) => complete({ fetch: fetchOf([bytes], { headers }).fetch, ...options });

/** The same, from a real server. */
async function replied(reply: Reply): Promise<Completion> {
  server.reply(reply);
  return complete();
}

const utf8 = (text: string) => new TextEncoder().encode(text);
const ends = ({ text, stop, error }: Completion) => ({
  text,
  reason: stop.reason,
  kind: error?.kind,
});
const whole = { text: 'Grüße 😀', reason: 'stop', kind: undefined };
const answer = sseText(textEvent('Grüße '), textEvent('😀'), finishEvent(), usageEvent);

describe('§1.1 text is decoded across reads', () => {
  test('wherever the bytes are cut, also within a character', async () => {
    const bytes = utf8(answer);
    for (const at of someOf([...bytes.keys()].slice(1))) {
      const { fetch } = fetchOf(splitAt(bytes, [at]));
      expect(ends(await complete({ fetch }))).toEqual(whole);
    }
  });

  test('byte by byte over a real connection', async () => {
    const { steps, fetch } = inLockstep(splitEvery(utf8(answer), 1));
    server.reply(streamReply(steps));
    expect(ends(await complete({ fetch }))).toEqual(whole);
  });

  test('and one byte order mark is no part of it', async () => {
    const { fetch } = fetchOf(splitEvery(utf8(`\uFEFF${answer}`), 1));
    expect(ends(await complete({ fetch }))).toEqual(whole);
  });

  test('and a character that was cut off at the end is not kept back', async () => {
    const cut = utf8(`data: ${textEvent('a€').slice(0, -2)}`).subarray(0, -1);
    const { error } = await completeBytes(cut);
    expect(error?.kind).toBe('truncated_stream');
  });
});

describe('§1.2 lines', () => {
  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('end in %s, however the bytes are cut', async (_, lineEnd) => {
    const bytes = utf8(answer.replaceAll('\n', lineEnd));
    for (const at of someOf([...bytes.keys()].slice(1))) {
      const { fetch } = fetchOf(splitAt(bytes, [at]));
      expect(ends(await complete({ fetch }))).toEqual(whole);
    }
  });

  test('may end in any mixture, however the bytes are cut', async () => {
    const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
    const events = [textEvent('Grüße '), textEvent('😀'), finishEvent(), usageEvent];
    const ending = fc.tuple(lineEnd, lineEnd).filter(([a, b]) => !(a === '\r' && b === '\n'));
    const streams = fc.array(ending, { minLength: events.length, maxLength: events.length });
    const cuts = fc.array(fc.nat(600), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(streams, cuts, async (endings, offsets) => {
        const text = events.map((event, nth) => `data: ${event}${endings[nth]?.join('')}`).join('');
        const bytes = utf8(text);
        const { fetch } = fetchOf(
          splitAt(
            bytes,
            offsets.filter((at) => at <= bytes.length),
          ),
        );
        expect(ends(await complete({ fetch }))).toEqual(whole);
      }),
      { numRuns: runs(200) },
    );
  });

  test('that end in CR are read when they come, not with the next byte', async () => {
    const body = createControlledBody();
    const stream = openStream(chat({ fetch: body.fetch }));
    const first = stream.next();
    await body.waitForRead();
    body.send(`data: ${textEvent('now')}\r\r`);
    expect((await first)?.deltas).toHaveLength(2);
    const second = stream.next();
    await body.waitForRead();
    body.send('\n');
    body.end();
    expect((await second)?.end?.error?.kind).toBe('truncated_stream');
  });

  test('need no space after the colon, and lose only one', async () => {
    const { text } = await completeBytes(
      `data:${textEvent('a')}\n\ndata:  ${textEvent(' b')}\n\ndata:${finishEvent()}\n\n`,
    );
    expect(text).toBe('a b');
  });

  test('of data are joined with a line feed', async () => {
    const lines = JSON.stringify(JSON.parse(textEvent('a')), null, 2).split('\n');
    const event = lines.map((line) => `data: ${line}\n`).join('');
    expect((await completeBytes(`${event}\n${sseText(finishEvent())}`)).text).toBe('a');
  });
});

describe('§1.3 comments', () => {
  const comments = [
    ': OPENROUTER PROCESSING\n\n',
    ': keep-alive\n',
    ':\n\n',
    'data: : OPENROUTER PROCESSING\n\n',
    'data:\n\n',
    'data\n\n',
    'retry: 3000\n\n',
    'retry: soon\n\n',
    'id: 7\n\n',
    'id: 7\nretry: 1\n\n',
    'event: ping\n\n',
    '\n\n',
  ];

  test.each(comments)('and the like are ignored: %j', async (comment) => {
    const pieces = [textEvent('Grüße '), textEvent('😀'), finishEvent()].map((event) =>
      sseText(event),
    );
    const bytes = `${comment}${pieces.join(comment)}${comment}`;
    expect(ends(await completeBytes(bytes))).toEqual(whole);
  });

  test.each(comments)('count as life: %j', async (comment) => {
    const body = createControlledBody();
    const ending = complete({ fetch: body.fetch });
    for (let nth = 0; nth < 4; nth++) {
      await body.waitForRead();
      body.send(comment);
      await body.waitForRead();
      clock.advance(89_999);
    }
    body.send(sseText(textEvent('at last'), finishEvent()));
    body.end();
    expect(ends(await ending)).toEqual({ text: 'at last', reason: 'stop', kind: undefined });
  });
});

describe('§1.4 the event field', () => {
  const flat = { message: 'The engine is overloaded', type: 'overloaded_error' };

  test.each([
    ['flat', JSON.stringify(flat)],
    ['nested', JSON.stringify({ error: flat })],
    ['nested, as Anthropic has it', JSON.stringify({ type: 'error', error: flat })],
    ['plain text', 'The engine is overloaded'],
  ])('error is an error, %s', async (_, data) => {
    const result = await completeBytes(
      `${sseText(textEvent('a'))}event: error\ndata: ${data}\n\n${sseText(finishEvent(), '[DONE]')}`,
    );
    expect(ends(result)).toEqual({ text: 'a', reason: 'error', kind: 'overloaded' });
    expect(result.error?.message).toContain('The engine is overloaded');
  });

  test('error is an error, also without a message', async () => {
    const result = await completeBytes(
      `event: error\ndata:\n\n${sseText(textEvent('a'), finishEvent())}`,
    );
    expect(ends(result)).toEqual({ text: '', reason: 'error', kind: 'server' });
  });

  test.each([
    ['ping', '{"type":"ping"}'],
    ['prompt_progress', '{"progress":0.5}'],
    ['heartbeat', 'tick'],
    ['keep-alive', '[]'],
  ])('of an unknown name is ignored: %s', async (name, data) => {
    const unknown = `event: ${name}\ndata: ${data}\n\n`;
    const bytes = `${unknown}${sseText(textEvent('Grüße '))}${unknown}${sseText(textEvent('😀'), finishEvent())}${unknown}`;
    expect(ends(await completeBytes(bytes))).toEqual(whole);
  });

  test('of any name may carry a chunk', async () => {
    const bytes = `event: chunk\n${sseText(textEvent('a'))}event: message\n${sseText(finishEvent())}`;
    expect(ends(await completeBytes(bytes))).toMatchObject({ text: 'a', kind: undefined });
  });

  test('may be missing and the error be a field, as of old llama.cpp', async () => {
    const error = '{"code":503,"message":"Loading model","type":"unavailable_error"}';
    const result = await completeBytes(`${sseText(textEvent('a'))}error: ${error}\n\n`);
    expect(ends(result)).toEqual({ text: 'a', reason: 'error', kind: 'overloaded' });
    expect(result.error).toMatchObject({ status: 503, providerCode: 'unavailable_error' });
    expect(result.error?.message).toMatch(/: Loading model\. /);
  });
});

describe('§1.5 an event that the end of the body cuts off', () => {
  test.each(['', '\n', '\r', '\r\n'])('is read if it is whole: the finish, and %j', async (end) => {
    const bytes = `${sseText(textEvent('Grüße 😀'))}data: ${finishEvent()}${end}`;
    expect(ends(await replied(streamReply([bytes])))).toEqual(whole);
  });

  test('is read if it is whole: the usage after the finish', async () => {
    const { usage } = await replied(
      streamReply([`${sseText(textEvent('a'), finishEvent())}data: ${usageEvent}`]),
    );
    expect(usage).toMatchObject({ input: 11, output: 7, estimated: false });
  });

  test('makes the answer truncated if it is not whole', async () => {
    const bytes = `${sseText(textEvent('a'))}data: ${finishEvent().slice(0, -3)}`;
    expect(ends(await completeBytes(bytes))).toMatchObject({
      text: 'a',
      reason: 'error',
      kind: 'truncated_stream',
    });
  });

  test('and is not whole does no harm after the finish', async () => {
    const bytes = `${sseText(textEvent('Grüße 😀'), finishEvent())}data: ${usageEvent.slice(0, -9)}`;
    expect(ends(await completeBytes(bytes))).toEqual(whole);
  });

  test('of `event: error` is an error, whole or not', async () => {
    const bytes = `${sseText(textEvent('a'))}event: error\ndata: {"error":{"message":"Over`;
    expect(ends(await completeBytes(bytes))).toMatchObject({ text: 'a', kind: 'server' });
  });

  const failure = { error: { code: 503, message: 'Capacity', status: 'UNAVAILABLE' } };

  test.each([
    ['in a line', JSON.stringify(failure)],
    ['over several lines', `${JSON.stringify(failure, null, 2)}\n`],
    ['over several lines with CRLF', JSON.stringify(failure, null, 2).replaceAll('\n', '\r\n')],
    ['in a list', JSON.stringify([failure])],
  ])('may be a bare error, %s', async (_, tail) => {
    for (const before of ['', `${sseText(textEvent('a'))}foo: bar\n\n`, 'retry: never\n\n']) {
      for (const after of ['', '\n\ndata: [DONE]\n\n']) {
        const result = await completeBytes(before + tail + after);
        expect(ends(result)).toMatchObject({ reason: 'error', kind: 'overloaded' });
        expect(result.error?.message).toContain('Capacity');
      }
    }
  });

  test('that is other text makes the answer truncated', async () => {
    const { error } = await completeBytes(`${sseText(textEvent('a'))}upstream connect error`);
    expect(error?.kind).toBe('truncated_stream');
  });

  test('never makes an open call whole', async () => {
    const deltas = [toolCallEvent('{"a":1', 'add'), toolCallEvent('}')].map((event) =>
      sseText(event),
    );
    const { item, error } = await completeBytes(deltas.join(''));
    expect(error?.kind).toBe('truncated_stream');
    expect(item.parts).toEqual([]);
  });
});

describe('§1.6 [DONE] and the end', () => {
  test('[DONE] is not needed', async () => {
    expect(ends(await completeBytes(answer))).toEqual(whole);
  });

  test.each(['[DONE]', ' [DONE] '])('%j may come', async (done) => {
    expect(ends(await completeBytes(`${answer}data: ${done}\n\n`))).toEqual(whole);
  });

  test('[DONE] is no proof of success', async () => {
    const error = '{"error":{"message":"Internal error","code":500}}';
    expect(ends(await completeBytes(sseText(textEvent('a'), error, '[DONE]')))).toMatchObject({
      text: 'a',
      kind: 'server',
    });
    expect(ends(await completeBytes(sseText(textEvent('a'), '[DONE]')))).toMatchObject({
      text: 'a',
      kind: 'truncated_stream',
    });
  });

  /** Reads until the server stalls. */
  async function untilSilence(...steps: readonly Step[]) {
    server.reply(streamReply([...steps, { type: 'stall' }]));
    const stream = openStream(chat());
    await stream.next();
    return { last: stream.next(), request: await server.nextRequest() };
  }

  test('a gateway that never closes after the finish is waited for a second, then closed', async () => {
    const { last, request } = await untilSilence(sseText(textEvent('a'), finishEvent()));
    clock.advance(999);
    expect(request.isClosed).toBe(false);
    clock.advance(1);
    expect((await last)?.end).toMatchObject({ stop: { reason: 'stop' } });
    expect((await last)?.end?.error).toBeUndefined();
    expect(await request.closed).toBe('client');
  });

  test('a gateway that never closes after [DONE] is waited for hardly at all', async () => {
    const { last, request } = await untilSilence(
      sseText(textEvent('a'), finishEvent(), usageEvent, '[DONE]'),
    );
    clock.advance(50);
    expect((await last)?.end?.usage).toMatchObject({ input: 11, estimated: false });
    expect(await request.closed).toBe('client');
  });

  test('a gateway that never closes after a [DONE] without a finish is not waited for either', async () => {
    const { last, request } = await untilSilence(sseText(textEvent('a'), '[DONE]'));
    clock.advance(50);
    expect((await last)?.end?.error?.kind).toBe('truncated_stream');
    expect(await request.closed).toBe('client');
  });

  test('a gateway that sends pings after the finish is closed too', async () => {
    const body = createControlledBody();
    const ending = complete({ fetch: body.fetch });
    await body.waitForRead();
    body.send(sseText(textEvent('a'), finishEvent()));
    for (let nth = 0; nth < 10; nth++) {
      await body.waitForRead();
      clock.advance(99);
      body.send(': ping\n\n');
    }
    await body.waitForRead();
    clock.advance(10);
    expect(ends(await ending)).toMatchObject({ text: 'a', kind: undefined });
    expect(body.isCancelled).toBe(true);
  });

  test('usage that comes in that time counts', async () => {
    const gate = newGate();
    server.reply(
      streamReply([
        sseText(textEvent('a'), finishEvent()),
        { type: 'wait', for: gate },
        sseText(usageEvent),
      ]),
    );
    const stream = openStream(chat());
    await stream.next();
    const last = stream.next();
    clock.advance(900);
    gate.open();
    expect((await last)?.end?.usage).toMatchObject({ input: 11, output: 7, estimated: false });
  });

  test('a consumer that takes its time does not lose the usage', async () => {
    server.reply(streamReply([sseText(textEvent('a'), finishEvent()), sseText(usageEvent)]));
    const stream = openStream(chat());
    await stream.next();
    clock.advance(60_000);
    expect((await stream.next())?.end?.usage).toMatchObject({ input: 11, estimated: false });
  });

  test('whatever breaks the connection after the finish is its end', async () => {
    const body = createControlledBody();
    const stream = openStream(chat({ fetch: body.fetch }));
    const first = stream.next();
    await body.waitForRead();
    body.send(sseText(textEvent('a'), finishEvent()));
    await first;
    const last = stream.next();
    await body.waitForRead();
    body.fail(new TypeError('terminated'));
    expect((await last)?.end).toMatchObject({ stop: { reason: 'stop' } });
    expect((await last)?.end?.error).toBeUndefined();
  });
});

describe('§1.7 timeouts', () => {
  test('any byte counts, be it half a comment', async () => {
    const body = createControlledBody();
    const ending = complete({ fetch: body.fetch });
    for (const byte of ': ping\n') {
      await body.waitForRead();
      body.send(byte);
      await body.waitForRead();
      clock.advance(84_999);
    }
    body.send(sseText(textEvent('a'), finishEvent()));
    body.end();
    expect(ends(await ending)).toMatchObject({ text: 'a', kind: undefined });
  });

  test('the first byte has a limit of its own, which is longer', async () => {
    const body = createControlledBody();
    const ending = complete({ fetch: body.fetch });
    await body.waitForRead();
    clock.advance(179_999);
    body.send(sseText(textEvent('a')));
    await body.waitForRead();
    clock.advance(90_000);
    expect((await ending).error?.message).toContain('the idle timeout of 90000 ms passed');
    expect(body.isCancelled).toBe(true);
  });
});

describe('§1.8 a 200 that is no stream', () => {
  test('but JSON is an error body', async () => {
    const body = { code: 'The service is currently unavailable', error: 'Overloaded' };
    expect(ends(await replied(jsonReply(200, body)))).toEqual({
      text: '',
      reason: 'error',
      kind: 'overloaded',
    });
  });

  test('but JSON may be the whole completion', async () => {
    for (const type of ['application/json', 'Application/JSON; charset=utf-8']) {
      const result = await replied(
        jsonReply(200, completion('Grüße 😀'), { 'content-type': type }),
      );
      expect(ends(result)).toEqual(whole);
      expect(result.usage).toMatchObject({ input: 11, output: 7, estimated: false });
    }
  });

  test.each([
    ['neither', '{"hello":"world"}'],
    ['no JSON', '{"choices":['],
  ])('but JSON may be %s, which is an error', async (_, body) => {
    const { error } = await completeBytes(body, { 'content-type': 'application/json' });
    expect(error?.kind).toBe('protocol_error');
  });

  test.each([
    ['stream', answer],
    ['completion', JSON.stringify(completion('Grüße 😀'))],
    ['completion over several lines', JSON.stringify(completion('Grüße 😀'), null, 2)],
  ])('may name no content type: a %s', async (_, body) => {
    expect(ends(await completeBytes(body, {}))).toEqual(whole);
    expect(ends(await replied({ steps: [body] }))).toEqual(whole);
  });

  test('may be a long completion over several lines without a content type', async () => {
    const long = 'Grüße 😀\n'.repeat(20_000);
    const body = JSON.stringify({ ...completion(long), pad: Array(5000).fill('x') }, null, 2);
    expect((await completeBytes(body, {})).text).toBe(long);
  });

  test('may name another type and be a stream all the same', async () => {
    for (const type of ['text/plain', 'application/octet-stream']) {
      expect(ends(await completeBytes(answer, { 'content-type': type }))).toEqual(whole);
    }
  });

  test.each([
    [{ 'content-type': 'text/html; charset=utf-8' }],
    [{ 'content-type': 'TEXT/HTML' }],
    [{}],
  ])('may be a web page, which is an error: %j', async (headers) => {
    const page = '<!doctype html>\n<title>Sign in</title>\n<p style="color: red">Sign in</p>\n';
    const { error } = await completeBytes(page, headers);
    expect(error?.kind).toBe('protocol_error');
    expect(error?.message).toContain('web page');
  });

  test('may be nothing, which is truncated', async () => {
    for (const reply of [streamReply([]), { status: 204, steps: [] }]) {
      expect(ends(await replied(reply))).toMatchObject({ kind: 'truncated_stream' });
    }
  });
});

describe('§1.9 what is too long', () => {
  const maxEventLength = 300;
  const fits = textEvent('x'.repeat(maxEventLength - textEvent('').length));
  const tooLong = textEvent('x'.repeat(maxEventLength - textEvent('').length + 1));
  const two = (event: string) => `data: ${event.slice(0, 50)}\ndata: ${event.slice(50)}\n\n`;

  /** Checks that the result is the same however the bytes are split. */
  async function inAnySplit(bytes: Uint8Array): Promise<Completion> {
    const all = [bytes.length, 1, 2, 3, 7, 64, 299, 300, 301, 306, 307, 308].map((length) =>
      splitEvery(bytes, length),
    );
    const results = await Promise.all(
      [...all, ...[5, 310].map((at) => splitAt(bytes, [at]))].map((pieces) =>
        complete({ fetch: fetchOf(pieces).fetch, maxEventLength }),
      ),
    );
    const [first = expect.unreachable()] = results;
    for (const { error, ...result } of results) {
      const { error: firstError, ...firstResult } = first;
      expect(result).toEqual(firstResult);
      expect(error?.message).toBe(firstError?.message);
    }
    return first;
  }

  test('fits exactly, and is whole', async () => {
    expect(fits).toHaveLength(maxEventLength);
    for (const end of ['\n', '\r\n', '\r']) {
      const bytes = utf8(sseText(textEvent('a'), fits, finishEvent()).replaceAll('\n', end));
      const { text, error } = await inAnySplit(bytes);
      expect(error).toBeUndefined();
      expect(text).toHaveLength(1 + maxEventLength - textEvent('').length);
    }
  });

  test.each([
    ['an event', sseText(tooLong)],
    ['an event after a name', `event: chunk\n${sseText(tooLong)}`],
    ['an event of many lines', `${'data: {\n'.repeat(200)}\n`],
    ['an event that does not end', `data: ${'x'.repeat(1000)}`],
    ['a comment', `: ${'x'.repeat(1000)}\n\n`],
    ['a name', `event: ${'x'.repeat(1000)}\n`],
    ['no field', `${'x'.repeat(1000)}\n`],
    ['lines that are no fields', 'x\n'.repeat(1000)],
    ['a wrapped comment', `data: : ${'x'.repeat(1000)}\n\n`],
  ])('is a protocol error, never dropped: %s', async (_, giant) => {
    const { text, error } = await inAnySplit(
      utf8(`${sseText(textEvent('a'))}${giant}${sseText(textEvent('b'), finishEvent())}`),
    );
    expect(text).toBe('a');
    expect(error?.kind).toBe('protocol_error');
    expect(error?.message).toContain('300');
  });

  test('is not the sum of an event and the name after it', async () => {
    const event = `data: ${fits}\nevent: ${'x'.repeat(200)}\n\n`;
    const { error } = await inAnySplit(utf8(`${event}${two(fits)}${sseText(finishEvent())}`));
    expect(error?.kind).toBe('protocol_error');
    expect((await inAnySplit(utf8(`${event}${sseText(finishEvent())}`))).error).toBeUndefined();
  });

  test('a whole completion is refused too', async () => {
    const body = JSON.stringify(completion('x'.repeat(400)));
    const { error } = await completeBytes(
      body,
      { 'content-type': 'application/json' },
      { maxEventLength },
    );
    expect(error?.kind).toBe('protocol_error');
  });

  test('megabytes are not: a picture of 12 MB comes as one event, in small reads', async () => {
    const bytes = Buffer.alloc(9 * 2 ** 20, 'millrace');
    const url = `data:image/png;base64,${bytes.toString('base64')}`;
    const image = JSON.stringify({
      choices: [{ index: 0, delta: { images: [{ image_url: { url } }] } }],
    });
    const { fetch } = fetchOf(splitEvery(utf8(sseText(image, finishEvent())), 16_384));
    const { item, error } = await complete({ fetch });
    expect(error).toBeUndefined();
    const [part] = item.parts;
    const source = part?.kind === 'media' ? part.source : undefined;
    expect(source?.type === 'bytes' && bytes.equals(source.bytes)).toBe(true);
  });

  test('megabytes are not: a picture of 12 MB in a whole completion', async () => {
    const url = `data:image/png;base64,${Buffer.alloc(9 * 2 ** 20, 1).toString('base64')}`;
    const message = { content: '', images: [{ image_url: { url } }] };
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
    const { item, error } = await completeBytes(body, { 'content-type': 'application/json' });
    expect(error).toBeUndefined();
    expect(item.parts).toHaveLength(1);
  });
});

describe('§1.10 compression', () => {
  test('is not asked for', async () => {
    await replied(streamReply([answer]));
    expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  test('that a server adds anyway spans chunks', async () => {
    const pieces = splitEvery(gzipSync(answer), 5);
    const result = await replied(streamReply(pieces, { 'content-encoding': 'gzip' }));
    expect(ends(result)).toEqual(whole);
  });

  test('that breaks in the middle is a network error', async () => {
    const zipped = gzipSync(sseText(textEvent('a')), { finishFlush: constants.Z_SYNC_FLUSH });
    const garbage = Buffer.alloc(64, 0xff);
    const gate = newGate();
    const steps: readonly Step[] = [zipped, { type: 'wait', for: gate }, garbage];
    server.reply(streamReply(steps, { 'content-encoding': 'gzip' }));
    const options = { ids: countingIds(), onStep: () => gate.open() };
    const result = await chat().complete({ items: helloItems }, options);
    expect(ends(result)).toEqual({ text: 'a', reason: 'error', kind: 'network' });
    expect(result.error?.retryable).toBe(true);
  });

  test.each(['close', 'reset'] as const)(
    'or a connection cut by %s is a network error',
    async (how) => {
      const gate = newGate();
      server.reply(
        streamReply([sseText(textEvent('a')), { type: 'wait', for: gate }, { type: 'cut', how }]),
      );
      const result = await chat().complete(
        { items: helloItems },
        { ids: countingIds(), onStep: () => gate.open() },
      );
      expect(ends(result)).toEqual({ text: 'a', reason: 'error', kind: 'network' });
    },
  );
});

describe('§1.11 an event that is not JSON', () => {
  test.each([
    ['half of it', textEvent('b').slice(0, -2)],
    ['prose', 'Internal Server Error'],
    ['no object', '"b"'],
    ['a list', '[1]'],
    ['two payloads spliced', textEvent('b') + textEvent('c')],
    ['two payloads spliced with a prefix', `${textEvent('b')}data: ${textEvent('c')}`],
    ['two payloads in two lines', `${textEvent('b')}\ndata: ${textEvent('c')}`],
  ])('ends the answer as a protocol error: %s', async (_, data) => {
    const result = await completeBytes(sseText(textEvent('a'), data, finishEvent(), '[DONE]'));
    expect(ends(result)).toEqual({ text: 'a', reason: 'error', kind: 'protocol_error' });
    expect(result.error?.retry).toBe('once');
  });
});

describe('§1.12 unknown things', () => {
  test.each([
    ['a field of SSE', `foo: bar\n${sseText(textEvent('Grüße 😀'), finishEvent())}baz\n\n`],
    [
      'a field of an event',
      sseText(textEvent('Grüße 😀').replace('{', '{"x":{"y":[]},'), finishEvent()),
    ],
    ['an event', sseText('{"type":"moon_phase"}', textEvent('Grüße 😀'), '{}', finishEvent())],
    [
      'a delta',
      sseText('{"choices":[{"delta":{"moon":1}}]}', textEvent('Grüße 😀'), finishEvent()),
    ],
  ])('are ignored: %s', async (_, bytes) => {
    expect(ends(await completeBytes(bytes))).toEqual(whole);
  });

  test('that are stop reasons are unknown, and kept', async () => {
    const { stop, error } = await completeBytes(sseText(textEvent('a'), finishEvent('tired')));
    expect(stop).toEqual({ reason: 'unknown', raw: 'tired' });
    expect(error).toBeUndefined();
  });
});

describe('the completion rule: without the terminal signal', () => {
  test('the answer is truncated, retryable, and its open calls are gone', async () => {
    const result = await replied(
      streamReply([sseText(textEvent('a'), toolCallEvent('{}', 'add'))]),
    );
    expect(ends(result)).toEqual({ text: 'a', reason: 'error', kind: 'truncated_stream' });
    expect(result.error?.retryable).toBe(true);
    expect(result.item.parts).toEqual([{ kind: 'text', text: 'a' }]);
    expect(result.usage.estimated).toBe(true);
  });
});
