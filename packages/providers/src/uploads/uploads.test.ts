import { type FilePart, type Item, itemId, type MediaPart, type ToolCallId } from '@millrace/core';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { anthropic } from '../anthropic/provider.ts';
import type { Provider } from '../contract/provider.ts';
import type { UploadOptions, Uploads } from '../contract/uploads.ts';
import { gemini } from '../gemini/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { FileServer, type UploadFailure } from '../testing/files/file-server.ts';
import type { Clock } from '../transport/clock.ts';
import { createUploads } from './create-uploads.ts';

const hourMs = 3_600_000;

/** Real timers, except that short delays are shorter still. Tests can move the time forward. */
class MovableClock implements Clock {
  offsetMs = 0;
  now(): number {
    return Date.now() + this.offsetMs;
  }
  after(ms: number, run: () => void): () => void {
    const timer = setTimeout(run, ms <= 1000 ? 2 : ms);
    return () => clearTimeout(timer);
  }
}

let clock: MovableClock;
let server: FileServer;

beforeEach(async () => {
  clock = new MovableClock();
  server = await FileServer.start(() => clock.now());
});

afterEach(async () => {
  expect(server.faults).toEqual([]);
  await server.stop();
});

const wires = ['responses', 'chat', 'anthropic', 'gemini'] as const;
type WireUnderTest = (typeof wires)[number];

function providerFor(wire: WireUnderTest, uploads: Uploads | undefined): Provider {
  const common = { apiKey: 'key-of-test', clock, uploads };
  switch (wire) {
    case 'responses':
      return openaiResponses({
        ...common,
        model: 'gpt-5.1',
        preset: 'openai',
        baseUrl: `${server.url}/v1`,
      });
    case 'chat':
      return openaiChat({
        ...common,
        model: 'gpt-5.1',
        preset: 'openai',
        baseUrl: `${server.url}/v1`,
      });
    case 'anthropic':
      return anthropic({ ...common, model: 'claude-sonnet-4-5', baseUrl: server.url });
    case 'gemini':
      return gemini({
        ...common,
        model: 'gemini-3-flash-preview',
        baseUrl: `${server.url}/v1beta`,
      });
  }
}

function ownName(wire: WireUnderTest): string {
  return wire === 'responses' || wire === 'chat' ? 'openai' : wire;
}

function uploadsOf(options: UploadOptions = {}): Uploads {
  return createUploads({ minBytes: 4, ...options });
}

function pdf(content: string): FilePart {
  const bytes = new TextEncoder().encode(content);
  const source = { type: 'bytes', bytes } as const;
  return { kind: 'file', name: `${content}.pdf`, mimeType: 'application/pdf', source };
}

function userItem(...parts: Item['parts']): Item {
  return { id: itemId('u1'), kind: 'user', parts: [{ kind: 'text', text: 'read' }, ...parts] };
}

/** Returns the bodies of the requests as JSON texts. */
function sentBodies(): readonly string[] {
  return server.requests.map((body) => JSON.stringify(body));
}

describe.each(wires)('%s: uploads', (wire) => {
  test('a content is uploaded once, and each turn names the same file', async () => {
    const uploads = uploadsOf();
    const provider = providerFor(wire, uploads);
    for (let turn = 0; turn < 3; turn++) {
      const end = await provider.complete({ items: [userItem(pdf('report'))] });
      expect(end.error).toBeUndefined();
      expect(end.warnings).toBeUndefined();
    }
    expect(server.stored).toEqual(['report']);
    expect(new Set(sentBodies()).size).toBe(1);
    expect(sentBodies()[0]).toContain([...server.files.keys()][0]);
    expect(sentBodies()[0]).not.toContain(btoa('report'));
    await uploads.close();
    expect(server.alive()).toEqual([]);
  });

  test('describe sends nothing', () => {
    const provider = providerFor(wire, uploadsOf());
    const described = provider.describe?.({ items: [userItem(pdf('report'))] });
    expect(JSON.stringify(described)).toContain(btoa('report'));
    expect(server.stored).toEqual([]);
  });

  test('a small content, and a content above the limit, are sent inside of the request', async () => {
    const provider = providerFor(wire, uploadsOf({ minBytes: 4, maxBytes: 8 }));
    const items = [userItem(pdf('abc'), pdf('a long report'))];
    await provider.complete({ items });
    expect(server.stored).toEqual([]);
    expect(sentBodies()[0]).toContain(btoa('a long report'));
  });

  test('a file that is gone is uploaded again, and the request is sent again', async () => {
    const provider = providerFor(wire, uploadsOf());
    const request = { items: [userItem(pdf('report'), pdf('other one'))] };
    await provider.complete(request);
    const lost = server.alive().find(({ content }) => content === 'report');
    server.files.delete(lost?.id ?? '');
    const end = await provider.complete(request);
    expect(end.error).toBeUndefined();
    // Only the file that the error names is uploaded again.
    expect(server.stored.slice(2)).toEqual(['report']);
    expect(server.deadReferences).toHaveLength(1);
  });

  test('an error about a file of the caller is reported, and nothing is uploaded again', async () => {
    const provider = providerFor(wire, uploadsOf());
    const id = wire === 'gemini' ? `${server.url}/v1beta/files/mine` : 'mine';
    const source = { type: 'provider_file', provider: ownName(wire), id } as const;
    const mine = { kind: 'file', name: 'a.pdf', mimeType: 'application/pdf', source } as const;
    const end = await provider.complete({ items: [userItem(pdf('report'), mine)] });
    expect(end.error?.message).toContain('mine');
    expect(server.requests).toHaveLength(1);
    expect(server.stored).toEqual(['report']);
  });

  test('a request survives the loss of all its files', async () => {
    const provider = providerFor(wire, uploadsOf());
    const request = { items: [userItem(...['one 1', 'two 2', 'three'].map(pdf))] };
    await provider.complete(request);
    server.files.clear();
    expect((await provider.complete(request)).error).toBeUndefined();
    expect(server.alive()).toHaveLength(3);
    // The provider does not keep files at all: the contents are sent at last.
    server.onUpload = async () => server.files.clear();
    server.files.clear();
    expect((await provider.complete(request)).error).toBeUndefined();
  });

  test('a file is uploaded again before it expires, so that no request names a dead file', async () => {
    const provider = providerFor(wire, uploadsOf({ lifetimeMs: 48 * hourMs }));
    const request = { items: [userItem(pdf('report'))] };
    await provider.complete(request);
    clock.offsetMs += 47 * hourMs;
    await provider.complete(request);
    expect(server.stored).toHaveLength(1);
    clock.offsetMs += hourMs - 60_000;
    await provider.complete(request);
    expect(server.stored).toHaveLength(2);
    expect(server.deadReferences).toEqual([]);
  });

  test('a refused upload falls back to the content, once and for all, with a warning', async () => {
    server.failures.push(413);
    const provider = providerFor(wire, uploadsOf());
    for (let turn = 0; turn < 2; turn++) {
      const end = await provider.complete({ items: [userItem(pdf('report'))] });
      expect(end.error).toBeUndefined();
      expect(end.warnings?.join()).toMatch(/not uploaded.*storage is not available/);
      expect(end.warnings?.join()).not.toContain('key-of-test');
    }
    expect(sentBodies()[1]).toBe(sentBodies()[0]);
    expect(sentBodies()[0]).toContain(btoa('report'));
  });

  test('a temporary failure of an upload is tried again', async () => {
    server.failures.push(503, 'before', undefined);
    const end = await providerFor(wire, uploadsOf()).complete({ items: [userItem(pdf('report'))] });
    expect(end.error).toBeUndefined();
    expect(end.warnings).toBeUndefined();
    expect(server.stored).toEqual(['report']);
  });

  test('a model that refuses references gets the content', async () => {
    server.refusal = "Invalid value: 'file_id' is not supported by this model";
    const uploads = uploadsOf();
    const provider = providerFor(wire, uploads);
    for (let turn = 0; turn < 2; turn++) {
      const end = await provider.complete({ items: [userItem(pdf('report'))] });
      expect(end.error).toBeUndefined();
    }
    expect(server.requests).toHaveLength(3);
    expect(sentBodies()[2]).toBe(sentBodies()[1]);
    await uploads.close();
    expect(server.alive()).toEqual([]);
  });

  test('an abort ends the request at once, and the upload serves the next request', async () => {
    const { promise: started, resolve: onStart } = Promise.withResolvers<void>();
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    server.onUpload = () => {
      onStart();
      return mayEnd;
    };
    const provider = providerFor(wire, uploadsOf());
    const abort = new AbortController();
    const request = { items: [userItem(pdf('report'))] };
    const first = provider.complete(request, { signal: abort.signal });
    await started;
    abort.abort();
    expect((await first).stop.reason).toBe('aborted');
    expect(server.requests).toEqual([]);
    end();
    expect((await provider.complete(request)).error).toBeUndefined();
    expect(server.stored).toEqual(['report']);
  });

  test('a file lives until its last session is released', async () => {
    const uploads = uploadsOf();
    const request = { items: [userItem(pdf('report'))] };
    await providerFor(wire, uploads).complete(request, { session: 'a' });
    await providerFor(wire, uploads).complete(request, { session: 'b' });
    await uploads.release('a');
    expect(server.alive()).toHaveLength(1);
    await uploads.release('b');
    expect(server.alive()).toEqual([]);
    expect(server.stored).toEqual(['report']);
  });

  test('a file that replaces an expired one keeps the sessions of the old one', async () => {
    const uploads = uploadsOf();
    const provider = providerFor(wire, uploads);
    const request = { items: [userItem(pdf('report'))] };
    await provider.complete(request, { session: 'a' });
    await provider.complete(request, { session: 'b' });
    clock.offsetMs += 48 * hourMs;
    await provider.complete(request, { session: 'a' });
    await uploads.release('a');
    expect(server.alive()).toHaveLength(1);
    await uploads.release('b');
    expect(server.alive()).toEqual([]);
  });

  test('a file is not deleted while a request uses it', async () => {
    const { promise: started, resolve: onStart } = Promise.withResolvers<void>();
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    server.onModel = () => {
      onStart();
      return mayEnd;
    };
    const uploads = uploadsOf();
    const request = { items: [userItem(pdf('report'))] };
    const running = providerFor(wire, uploads).complete(request, { session: 'a' });
    await started;
    await uploads.release('a');
    expect(server.alive()).toHaveLength(1);
    await uploads.close();
    end();
    expect((await running).error).toBeUndefined();
    await uploads.close();
    expect(server.deadReferences).toEqual([]);
    expect(server.alive()).toEqual([]);
  });

  test('a file that is replaced stays until the requests with it have ended', async () => {
    const { promise: started, resolve: onStart } = Promise.withResolvers<void>();
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    server.onModel = () => {
      server.onModel = async () => {};
      onStart();
      return mayEnd;
    };
    const uploads = uploadsOf();
    const provider = providerFor(wire, uploads);
    const request = { items: [userItem(pdf('report'))] };
    const first = provider.complete(request);
    await started;
    clock.offsetMs += 48 * hourMs - 60_000;
    expect((await provider.complete(request)).error).toBeUndefined();
    await uploads.release('nobody');
    expect(server.alive()).toHaveLength(2);
    end();
    expect((await first).error).toBeUndefined();
    await uploads.release('nobody');
    expect(server.deadReferences).toEqual([]);
    expect(server.alive()).toHaveLength(1);
  });

  test('the oldest file that is not in use makes room', async () => {
    const uploads = uploadsOf({ maxFiles: 2 });
    const provider = providerFor(wire, uploads);
    for (const name of ['first', 'second', 'third']) {
      await provider.complete({ items: [userItem(pdf(name))] });
    }
    await uploads.release('nobody');
    expect(server.alive().map(({ content }) => content)).toEqual(['second', 'third']);
    // All places are in use by one request: the rest is sent as content.
    await provider.complete({ items: [userItem(pdf('second'), pdf('third'), pdf('fourth'))] });
    expect(sentBodies()[3]).toContain(btoa('fourth'));
    expect(server.stored).toHaveLength(3);
  });

  test('a deletion that fails is reported, and done by the next call', async () => {
    const uploads = uploadsOf();
    await providerFor(wire, uploads).complete({ items: [userItem(pdf('report'))] });
    server.deletionStatus = 503;
    await expect(uploads.close()).rejects.toMatchObject({ name: 'ProviderError', status: 503 });
    server.deletionStatus = 200;
    await uploads.close();
    expect(server.alive()).toEqual([]);
  });

  test('a wrong key is reported by the request itself', async () => {
    const provider = wire === 'gemini' ? gemini : anthropic;
    const baseUrl = wire === 'gemini' ? `${server.url}/v1beta` : server.url;
    const apiKey = 'wrong-key-of-test';
    const uploads = uploadsOf();
    const end = await provider({ model: 'm', apiKey, baseUrl, clock, uploads }).complete({
      items: [userItem(pdf('report'))],
    });
    expect(end.error?.kind).toBe('auth');
    expect(JSON.stringify(end)).not.toContain(apiKey);
  });
});

const picture: MediaPart = {
  kind: 'media',
  mimeType: 'image/png',
  source: { type: 'bytes', bytes: new Uint8Array([1, 2, 3, 4, 5]) },
};

describe('the form of references', () => {
  const call = {
    kind: 'tool_call',
    toolCallId: 'c1' as ToolCallId,
    name: 'look',
    arguments: '{}',
  } as const;
  const result = {
    kind: 'tool_result',
    toolCallId: 'c1' as ToolCallId,
    name: 'look',
    text: 'seen',
    isError: false,
    attachments: [picture],
  } as const;
  const items: readonly Item[] = [
    userItem(picture, { ...pdf('plain text'), mimeType: 'text/plain; charset=utf-8' }),
    { id: itemId('a1'), kind: 'assistant', parts: [call] },
    { id: itemId('t1'), kind: 'tool', parts: [result] },
  ];

  test('responses: images by file_id, text as text', async () => {
    await providerFor('responses', uploadsOf()).complete({ items });
    const [id] = server.files.keys();
    const image = { type: 'input_image', file_id: id, detail: 'auto' };
    expect(server.requests[0]).toMatchObject({
      input: [
        { content: [{ text: 'read' }, image, { type: 'input_text' }] },
        { type: 'function_call' },
        { type: 'function_call_output', output: [{ text: 'seen' }, image] },
      ],
    });
  });

  test('anthropic: images and text files by file_id, also inside of tool results', async () => {
    await providerFor('anthropic', uploadsOf()).complete({ items });
    const byContent = new Map(server.alive().map((file) => [file.content, file]));
    const source = (content: string) => ({ type: 'file', file_id: byContent.get(content)?.id });
    const image = { type: 'image', source: source('\u0001\u0002\u0003\u0004\u0005') };
    expect(byContent.get('plain text')?.mimeType).toBe('text/plain');
    expect(server.requests[0]).toMatchObject({
      messages: [
        {
          content: [
            { text: 'read' },
            image,
            { type: 'document', source: source('plain text'), title: 'plain text.pdf' },
          ],
        },
        { content: [{ type: 'tool_use' }] },
        { content: [{ type: 'tool_result', content: [{ text: 'seen' }, image] }] },
      ],
    });
  });

  test('gemini: images by fileUri, beside the result of a tool', async () => {
    server.processing = 2;
    await providerFor('gemini', uploadsOf()).complete({ items });
    const [id] = server.files.keys();
    const fileUri = `${server.url}/v1beta/files/${id}`;
    const image = { fileData: { mimeType: 'image/png', fileUri } };
    expect(server.requests[0]).toMatchObject({
      contents: [
        { parts: [{ text: 'read' }, image, {}] },
        { parts: [{ functionCall: { name: 'look' } }] },
        { parts: [{ functionResponse: { name: 'look' } }, image] },
      ],
    });
  });

  test('chat and responses of one account share a file', async () => {
    const uploads = uploadsOf();
    await providerFor('chat', uploads).complete({ items: [userItem(pdf('report'))] });
    await providerFor('responses', uploads).complete({ items: [userItem(pdf('report'))] });
    const [id] = server.files.keys();
    expect(server.stored).toEqual(['report']);
    expect(sentBodies()[0]).toContain(JSON.stringify({ type: 'file', file: { file_id: id } }));
    expect(sentBodies()[1]).toContain(JSON.stringify({ type: 'input_file', file_id: id }));
  });

  test('a lost answer to an upload leaves no file at Gemini', async () => {
    server.failures.push('after');
    const uploads = uploadsOf();
    await providerFor('gemini', uploads).complete({ items: [userItem(pdf('report'))] });
    expect(server.stored).toEqual(['report', 'report']);
    expect(server.alive()).toHaveLength(1);
    await uploads.close();
    expect(server.alive()).toEqual([]);
  });
});

test('the key of Gemini does not reach another origin', async () => {
  await providerFor('gemini', uploadsOf()).complete({ items: [userItem(pdf('report'))] });
  server.uploadOrigin = server.url.replace('127.0.0.1', 'localhost');
  await providerFor('gemini', uploadsOf()).complete({ items: [userItem(pdf('report'))] });
  expect(server.uploadKeys).toEqual(['key-of-test', 'undefined']);
  expect(server.stored).toHaveLength(2);
});

describe('options', () => {
  test('unknown and invalid options are refused', () => {
    const unknown: object = { minimum: 1 };
    expect(() => createUploads(unknown)).toThrow(/option minimum/);
    expect(() => createUploads({ minBytes: 0 })).toThrow(RangeError);
    expect(() => createUploads({ lifetimeMs: 1000 })).toThrow(/1 hour to 30 days/);
    const other: Uploads = { size: 0, release: async () => {}, close: async () => {} };
    expect(() => providerFor('anthropic', other)).toThrow(/createUploads\(\)/);
    expect(() => openaiChat({ model: 'm', preset: 'groq', uploads: uploadsOf() })).toThrow(
      /uploads with groq/,
    );
  });

  test('22.2: uploads of another copy of this package are accepted', async () => {
    vi.resetModules();
    const copy = await import('./create-uploads.ts');
    expect(copy.createUploads).not.toBe(createUploads);
    const uploads = copy.createUploads({ minBytes: 4 });
    await providerFor('anthropic', uploads).complete({ items: [userItem(pdf('report'))] });
    expect(uploads.size).toBe(1);
    await uploads.close();
  });

  test('after close nothing is uploaded', async () => {
    const uploads = uploadsOf();
    await uploads.close();
    await providerFor('anthropic', uploads).complete({ items: [userItem(pdf('report'))] });
    expect(server.stored).toEqual([]);
    expect(sentBodies()[0]).toContain(btoa('report'));
  });
});

describe('random schedules', () => {
  type Step =
    | {
        readonly type: 'turn';
        readonly session: number;
        readonly contents: readonly number[];
        readonly isAborted: boolean;
      }
    | { readonly type: 'release'; readonly session: number }
    | { readonly type: 'wait'; readonly hours: number }
    | { readonly type: 'fail'; readonly how: UploadFailure }
    | { readonly type: 'vanish' }
    | { readonly type: 'settle' };

  const abortedText = 'this turn is aborted';
  const session = fc.nat(2);
  const turn = fc.record({
    type: fc.constant('turn' as const),
    session,
    contents: fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 3 }),
    isAborted: fc.integer({ max: 3, min: 0 }).map((n) => n === 3),
  });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { arbitrary: turn, weight: 6 },
    { arbitrary: fc.record({ type: fc.constant('release' as const), session }), weight: 2 },
    {
      arbitrary: fc.record({
        type: fc.constant('wait' as const),
        hours: fc.constantFrom(1, 20, 47),
      }),
      weight: 2,
    },
    {
      arbitrary: fc.record({
        type: fc.constant('fail' as const),
        how: fc.constantFrom<UploadFailure>('before', 503, 400),
      }),
      weight: 1,
    },
    { arbitrary: fc.constant<Step>({ type: 'vanish' }), weight: 1 },
    { arbitrary: fc.constant<Step>({ type: 'settle' }), weight: 2 },
  );

  test.each(wires)(
    '%s: no content is stored twice, no request fails, and nothing is left at the end',
    async (wire) => {
      const property = fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const own = await FileServer.start(() => clock.now());
        server = own;
        const uploads = uploadsOf();
        const provider = providerFor(wire, uploads);
        let vanished = 0;
        const expectUnique = async () => {
          await Promise.all(running);
          // Waits for deletions in the background.
          await uploads.release('nobody');
          const contents = own.alive().map(({ content }) => content);
          expect(contents).toHaveLength(new Set(contents).size);
        };
        const running = new Set<Promise<void>>();
        try {
          for (const one of steps) {
            switch (one.type) {
              case 'turn': {
                const files = one.contents.map((n) => pdf(`content ${n}`));
                const items = [
                  userItem(
                    ...(one.isAborted ? [{ kind: 'text', text: abortedText } as const] : []),
                    ...files,
                  ),
                ];
                const abort = new AbortController();
                if (one.isAborted) setTimeout(() => abort.abort(), 1);
                const ended = provider
                  .complete({ items }, { session: `s${one.session}`, signal: abort.signal })
                  .then(({ error }) => {
                    if (!one.isAborted) expect(error).toBeUndefined();
                    else expect([undefined, 'aborted']).toContain(error?.kind);
                  })
                  .finally(() => running.delete(ended));
                running.add(ended);
                break;
              }
              case 'release':
                await uploads.release(`s${one.session}`);
                break;
              case 'wait':
                await Promise.all(running);
                clock.offsetMs += one.hours * hourMs;
                break;
              case 'fail':
                own.failures.push(one.how);
                break;
              case 'vanish': {
                await Promise.all(running);
                const [first] = own.alive();
                if (first !== undefined && own.files.delete(first.id)) vanished++;
                break;
              }
              case 'settle':
                await expectUnique();
                break;
            }
          }
          await expectUnique();
          for (const n of [0, 1, 2]) await uploads.release(`s${n}`);
          expect(own.alive()).toEqual([]);
          expect(uploads.size).toBe(0);
          expect(own.faults).toEqual([]);
          // A content is stored again only after something ended its file.
          const ends = steps.filter(({ type }) => ['release', 'wait', 'vanish'].includes(type));
          for (const n of [0, 1, 2, 3]) {
            const times = own.stored.filter((content) => content === `content ${n}`).length;
            expect(times).toBeLessThanOrEqual(1 + ends.length);
          }
          // An aborted request can reach the server after its file has ended, because nobody waits for it.
          const dead = own.deadReferences.filter(
            (body) => !JSON.stringify(body).includes(abortedText),
          );
          if (vanished === 0) expect(dead).toEqual([]);
        } finally {
          await own.stop();
        }
      });
      await fc.assert(property, { numRuns: runs(60) });
    },
  );
});
