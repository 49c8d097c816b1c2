import { createHash, createHmac, type Hmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { anthropic } from '../anthropic/provider.ts';
import { joinBytes, splitAt } from '../scripted-server/framing/sse-frames.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { casesOf, play } from '../testing/play.ts';
import { readers } from '../testing/wire-table.ts';
import { anthropicBedrock } from './anthropic-bedrock.ts';
import { anthropicVertex } from './anthropic-vertex.ts';

afterEach(() => vi.unstubAllEnvs());

const model = 'claude-sonnet-4-5';
const hello = { items: [] };

// Amazon's own library writes the messages that the tests read.
const codec = new EventStreamCodec(
  (bytes) => new TextDecoder().decode(bytes as Uint8Array),
  (text) => new TextEncoder().encode(text),
);

function frame(headers: Readonly<Record<string, string>>, body: string): Uint8Array {
  const typed = Object.entries(headers).map(([name, value]) => [
    name,
    { type: 'string', value } as const,
  ]);
  return codec.encode({ headers: Object.fromEntries(typed), body: new TextEncoder().encode(body) });
}

const chunkFrame = (line: string) =>
  frame(
    { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify({ bytes: Buffer.from(line).toString('base64'), p: 'abcdef' }),
  );
const errorFrame = (type: string, message: string) =>
  frame({ ':exception-type': type, ':message-type': 'exception' }, JSON.stringify({ message }));

const isStream = { headers: { 'content-type': 'application/vnd.amazon.eventstream' } };
const under = {
  wire: 'anthropic',
  read: readers.anthropic,
  faults: () => [],
  provider: (fetch: typeof globalThis.fetch) =>
    anthropicBedrock({ model, region: 'us-east-1', apiKey: 'bedrock-key', fetch }),
} as const;
const direct = {
  ...under,
  provider: (fetch: typeof globalThis.fetch) => anthropic({ model, apiKey: 'key-12345', fetch }),
};
const playFrames = (chunks: readonly Uint8Array[]) =>
  play(under, '', chunks, fetchOf(chunks, isStream).fetch);

const cases = casesOf('anthropic');

describe('the event stream of Bedrock', () => {
  test.each(cases)('$name gives the same deltas in any split', async ({ lines }) => {
    const reference = await play(direct, '', [new TextEncoder().encode(sseOf(lines))]);
    const bytes = joinBytes(lines.map(chunkFrame));
    if (bytes.length < 2) return;
    const offset = fc.integer({ min: 1, max: bytes.length - 1 });
    const offsets = fc.array(offset, { minLength: 1, maxLength: 100 });
    for (const at of [[], ...fc.sample(offsets, 2)]) {
      const { deltas, completion } = await playFrames(splitAt(bytes, at));
      const renamed = JSON.stringify(deltas).replaceAll('"anthropic-bedrock"', '"anthropic"');
      expect(JSON.parse(renamed)).toEqual(JSON.parse(JSON.stringify(reference.deltas)));
      expect(completion.stop).toEqual(reference.completion.stop);
      expect(completion.usage).toEqual(reference.completion.usage);
    }
  });

  test('that is cut or damaged anywhere is never taken as whole, nor read wrongly', async () => {
    const lines = cases.find(({ lines: all }) => all.length > 4 && all.length < 60)?.lines ?? [];
    const bytes = joinBytes(lines.map(chunkFrame));
    const whole = (await playFrames([bytes])).completion;
    await fc.assert(
      fc.asyncProperty(
        fc.nat(bytes.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.boolean(),
        async (at, change, isCut) => {
          const spoiled = isCut ? bytes.slice(0, at) : bytes.slice();
          if (!isCut) spoiled[at] = (spoiled[at] ?? 0) ^ change;
          const { completion } = await playFrames([spoiled]);
          expect(completion.error?.kind).toMatch(/protocol_error|truncated_stream/);
          expect(whole.text.startsWith(completion.text)).toBe(true);
        },
      ),
      { numRuns: runs(500) },
    );
  });

  test.each([
    ['throttlingException', 'rate_limit'],
    ['internalServerException', 'server'],
    ['modelStreamErrorException', 'server'],
    ['serviceUnavailableException', 'overloaded'],
    ['modelTimeoutException', 'timeout'],
    ['validationException', 'invalid_request'],
  ])('can end in %s, which is %s', async (type, kind) => {
    const start = JSON.stringify({ type: 'message_start', message: { id: 'm', usage: {} } });
    const chunks = [chunkFrame(start), errorFrame(type, 'The words of Amazon')];
    const { error, stop } = (await playFrames(chunks)).completion;
    expect(error).toMatchObject({ kind, providerCode: type });
    expect(error?.message).toContain('The words of Amazon');
    expect(stop.reason).toBe('error');
  });

  test('does not hold a message that is longer than the limit', async () => {
    const { fetch } = fetchOf([chunkFrame('x'.repeat(3000))], isStream);
    const options = { model, region: 'us-east-1', apiKey: 'bedrock-key', fetch };
    const { error } = await anthropicBedrock({ ...options, maxEventLength: 1000 }).complete(hello);
    expect(error?.message).toContain('longer than the limit of 1000 bytes');
  });
});

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

async function startServer(reply: (received: Received) => readonly [status: number, body: string]) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = '', url = '' } = request;
    received.push({ method, url, headers: request.headers as Record<string, string>, body });
    const [status, text] = reply(received.at(-1) as Received);
    const headers = { 'content-type': 'application/json', 'metadata-flavor': 'Google' };
    response.writeHead(status, headers).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Node's hash in the shape that Amazon's library expects. */
class Sha256 {
  readonly #hash: Hmac | ReturnType<typeof createHash>;
  constructor(secret?: unknown) {
    const isHash = secret === undefined;
    this.#hash = isHash ? createHash('sha256') : createHmac('sha256', secret as Uint8Array);
  }
  update(data: unknown): void {
    this.#hash.update(data as Uint8Array);
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {}
}

const credentials = {
  accessKeyId: 'AKIAEXAMPLE',
  secretAccessKey: 'the-secret-access-key',
  sessionToken: 'the-session-token',
};

test('a request to Bedrock has the signature that the library of Amazon computes', async () => {
  const { url, received } = await startServer(() => [400, '{"message":"Seen"}']);
  const bedrock = anthropicBedrock({
    ...{ model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', region: 'eu-central-1' },
    ...{ credentials: async () => credentials, baseUrl: url, betas: ['context-1m-2025-08-07'] },
  });
  const { error } = await bedrock.complete(hello);
  expect(error?.message).toContain('Seen');
  const [sent] = received;
  const path = '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream';
  expect([sent?.method, sent?.url]).toEqual(['POST', path]);
  const body: Record<string, unknown> = JSON.parse(sent?.body ?? '');
  expect(body).toMatchObject({
    anthropic_version: 'bedrock-2023-05-31',
    anthropic_beta: ['context-1m-2025-08-07'],
  });
  expect(['model' in body, 'stream' in body]).toEqual([false, false]);

  const headers = sent?.headers ?? {};
  const names = /SignedHeaders=([^,]+)/.exec(headers['authorization'] ?? '')?.[1]?.split(';') ?? [];
  expect(names).toEqual(expect.arrayContaining(['host', 'x-amz-date', 'x-amz-security-token']));
  const signed = Object.fromEntries(names.map((name) => [name, headers[name] ?? '']));
  const signer = new SignatureV4({
    ...{ credentials, region: 'eu-central-1', service: 'bedrock', sha256: Sha256 },
    ...{ applyChecksum: false },
  });
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(headers['x-amz-date'] ?? '') ?? [];
  const signingDate = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  const expected = await signer.sign(
    {
      ...{ method: 'POST', protocol: 'http:', hostname: '127.0.0.1', path, query: {} },
      ...{ headers: signed, body: sent?.body },
    },
    { signingDate },
  );
  const signatureIn = (text = '') => /Signature=(\w+)/.exec(text)?.[1];
  expect(signatureIn(headers['authorization'])).toMatch(/^[0-9a-f]{64}$/);
  expect(signatureIn(headers['authorization'])).toBe(
    signatureIn(expected.headers['authorization']),
  );
});

test('an error of Bedrock that quotes secrets is shown without them', async () => {
  const quoted = 'the canonical request has x-amz-security-token:the-session-token';
  const { url } = await startServer(() => [403, JSON.stringify({ message: quoted })]);
  const bedrock = anthropicBedrock({ model, region: 'us-east-1', credentials, baseUrl: url });
  const { error } = await bedrock.complete(hello);
  expect(error?.kind).toBe('permission');
  expect(error?.message).toContain('the canonical request has');
  expect(JSON.stringify([error, error?.message, error?.cause])).not.toContain('the-session-token');
});

test('a Bedrock API key needs no signature, and keys of the caller come first', async () => {
  vi.stubEnv('AWS_BEARER_TOKEN_BEDROCK', 'key-of-the-environment');
  vi.stubEnv('AWS_REGION', 'ap-south-1');
  const { fetch, requests } = fetchOf([], isStream);
  await anthropicBedrock({ model, fetch }).complete(hello);
  await anthropicBedrock({ model, fetch, credentials }).complete(hello);
  expect(requests.map(({ url }) => new URL(url).host)).toEqual([
    'bedrock-runtime.ap-south-1.amazonaws.com',
    'bedrock-runtime.ap-south-1.amazonaws.com',
  ]);
  expect(requests[0]?.headers.get('authorization')).toBe('Bearer key-of-the-environment');
  expect(requests[1]?.headers.get('authorization')).toMatch(/^AWS4-HMAC-SHA256 /);
});

test.each([
  ['a region that is none', { region: 'evil.example/' }, 'region must consist of'],
  ['no region', { region: undefined }, 'pass region or set AWS_REGION'],
  ['no keys', {}, 'there are no AWS keys'],
  [
    'keys that cannot be read',
    { credentials: () => Promise.reject(new Error('no profile')) },
    'the function credentials threw an error',
  ],
])('with %s nothing is sent to Bedrock', async (_, options, message) => {
  for (const name of ['REGION', 'DEFAULT_REGION', 'ACCESS_KEY_ID', 'BEARER_TOKEN_BEDROCK'])
    vi.stubEnv(`AWS_${name}`, '');
  const { fetch, requests } = fetchOf([], isStream);
  const bedrock = anthropicBedrock({ model, region: 'us-east-1', fetch, ...options });
  const { error } = await bedrock.complete(hello);
  expect(error?.message).toContain(message);
  expect(requests).toEqual([]);
});

describe('Claude on Vertex', () => {
  const place = { project: 'tides', location: 'us-east5' };

  test('is asked at its place, with a token that is read for each request', async () => {
    let count = 0;
    const { fetch, requests } = fetchOf([]);
    const provider = anthropicVertex({
      ...{ model: 'claude-sonnet-4-5@20250929', ...place, fetch },
      accessToken: async () => `token-${++count}`,
    });
    await provider.complete(hello);
    await provider.complete(hello);
    expect(requests[0]?.url).toBe(
      'https://us-east5-aiplatform.googleapis.com/v1/projects/tides/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict',
    );
    const tokens = requests.map(({ headers }) => headers.get('authorization'));
    expect(tokens).toEqual(['Bearer token-1', 'Bearer token-2']);
    const { body } = requests[0] ?? {};
    expect(body).toMatchObject({ anthropic_version: 'vertex-2023-10-16', stream: true });
    expect(body).not.toHaveProperty('model');
  });

  test('is read like Claude elsewhere', async () => {
    const [{ lines } = { lines: [] }] = cases;
    const vertex = {
      ...under,
      provider: (fetch: typeof globalThis.fetch) =>
        anthropicVertex({ model, ...place, accessToken: 'ya29.token', fetch }),
    };
    const bytes = [new TextEncoder().encode(sseOf(lines))];
    const { text } = (await play(vertex, '', bytes)).completion;
    expect(text).toBe((await play(direct, '', bytes)).completion.text);
  });

  test('gets the token of the machine from the library of Google', async () => {
    const { url, received } = await startServer(({ url: path }) =>
      path.includes('/token')
        ? [200, '{"access_token":"token-of-the-machine","expires_in":3600,"token_type":"Bearer"}']
        : [200, '{}'],
    );
    vi.stubEnv('GCE_METADATA_HOST', new URL(url).host);
    vi.stubEnv('METADATA_SERVER_DETECTION', 'assume-present');
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '');
    vi.stubEnv('HOME', '/nonexistent');
    const { fetch, requests } = fetchOf([]);
    await anthropicVertex({ model, ...place, fetch }).complete(hello);
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer token-of-the-machine');
    expect(received.length).toBeGreaterThan(0);
  });

  test('can be aborted while the token is awaited', async () => {
    const controller = new AbortController();
    const { fetch, requests } = fetchOf([]);
    const asked = Promise.withResolvers<void>();
    const accessToken = () => {
      asked.resolve();
      return new Promise<string>(() => {});
    };
    const running = anthropicVertex({ model, ...place, accessToken, fetch }).complete(hello, {
      signal: controller.signal,
    });
    await asked.promise;
    controller.abort();
    expect((await running).stop.reason).toBe('aborted');
    expect(requests).toEqual([]);
  });
});
