import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { encodeCassette, type RecordedExchange } from '@millrace/providers/cassette';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const script = fileURLToPath(new URL('cassette.ts', import.meta.url));
const encode = (text: string) => new TextEncoder().encode(text);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cassette-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(...args: readonly string[]) {
  const flags = ['--conditions=@millrace/source', script];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, ...args], {
    encoding: 'utf8',
  });
  return { status, out: stdout.split('\n').map((line) => line.trim()), stderr };
}

function file(text: string): string {
  const path = join(folder, 'one.jsonl');
  writeFileSync(path, text);
  return path;
}

const good: RecordedExchange = {
  startMs: 0,
  request: {
    method: 'POST',
    url: 'https://h.example/v1?key=(redacted)',
    headers: { 'content-type': 'application/json' },
    body: encode('{"stream":true}'),
  },
  response: {
    atMs: 12,
    status: 200,
    statusText: 'OK',
    headers: { 'content-type': 'text/event-stream' },
    chunks: [
      { atMs: 12.5, bytes: encode('data: 1\n\n: comment\r\n\r\ndata: 2') },
      { atMs: 30, bytes: encode(`\n\nevent: x\ndata: \u001b${'y'.repeat(99)}`) },
    ],
  },
  end: { atMs: 41, how: 'end' },
};

describe('cassette show', () => {
  test('prints each exchange chunk by chunk and escapes control characters', () => {
    const { status, out, stderr } = run('show', file(encodeCassette({ exchanges: [good] })));
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(out).toEqual([
      '1 exchange',
      '',
      'exchange 0: POST https://h.example/v1?key=(redacted) (0 ms after the first)',
      '+0 ms        request    15 B       "{\\"stream\\":true}"',
      'content-type: application/json',
      '+12 ms       response   200        OK',
      'content-type: text/event-stream',
      '+12.5 ms     chunk 0    29 B       "data: 1\\n\\n: comment\\r\\n\\r\\ndata: 2"',
      `+30 ms       chunk 1    117 B      "\\n\\nevent: x\\ndata: \\u001b${'y'.repeat(42)}"…`,
      '+41 ms       end                   2 chunks, 146 bytes, 2 SSE events and an incomplete one',
      '',
    ]);
  });
});

test('cassette show prints the new part of each chunk', () => {
  const chunkOf = (text: string) => ({
    atMs: 1,
    bytes: encode(
      `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`,
    ),
  });
  const chunks = ['Hello', ' big', ' world', ' world'].map(chunkOf);
  const response = { atMs: 1, status: 200, headers: {}, chunks };
  const { out } = run('show', file(encodeCassette({ exchanges: [{ ...good, response }] })));
  const shown = out.filter((line) => / chunk \d /.test(line));
  expect(shown[0]).toContain('"data: {\\"id\\":');
  expect(shown[1]).toMatch(/…".* big\\"\}\}\]\}\\n\\n"$/);
  expect(shown[2]).toMatch(/…".* world\\"\}\}\]\}\\n\\n"$/);
  expect(shown[3]).toMatch(/…".* world\\"\}\}\]\}\\n\\n"$/);
});

test('cassette show prints why a request failed', () => {
  const cause = { name: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' };
  const error = { name: 'TypeError', message: 'fetch failed', cause };
  const { startMs, request } = good;
  const broken = { startMs, request, end: { atMs: 3, how: 'error', error } as const };
  const { out } = run('show', file(encodeCassette({ exchanges: [broken] })));
  expect(out.slice(-4)).toEqual([
    '+3 ms        error                 no response; it failed',
    'TypeError: fetch failed',
    'caused by Error: connect ECONNREFUSED (ECONNREFUSED)',
    '',
  ]);
});

describe('cassette check', () => {
  const size = '2 chunks, 146 bytes, 2 SSE events and an incomplete one';

  test('accepts complete bodies, and warns about a cancelled one', () => {
    const cancelled = { ...good, end: { atMs: 50, how: 'cancelled' } as const };
    const { status, out } = run('check', file(encodeCassette({ exchanges: [good, cancelled] })));
    expect(out).toEqual([
      `exchange 0: ${size}; complete`,
      `exchange 1: ${size}; the reader cancelled it`,
      'warning: exchange 1: the reader cancelled it, and a replay cannot continue after that point',
      'ok',
      '',
    ]);
    expect(status).toBe(0);
  });

  test('rejects a failed exchange', () => {
    const { startMs, request } = good;
    const error = { name: 'TypeError', message: 'fetch failed' };
    const broken = { startMs, request, end: { atMs: 3, how: 'error', error } as const };
    const { status, out } = run('check', file(encodeCassette({ exchanges: [good, broken] })));
    expect(out).toEqual([
      `exchange 0: ${size}; complete`,
      'exchange 1: no response; it failed',
      'problem: exchange 1: it failed before its end; record it again unless the failure is intended',
      '',
    ]);
    expect(status).toBe(1);
  });

  test('finds secrets in all fields and does not print them', () => {
    const key = 'sk-1234567890abcdef';
    const bytes = encode(`{"error":"bad key ${key}"}`);
    const chunks = [
      { atMs: 12, bytes: bytes.subarray(0, 25) },
      { atMs: 12, bytes: bytes.subarray(25) },
    ];
    const request = { ...good.request, url: `https://h.example/?token=abc`, body: encode(key) };
    const headers = { authorization: 'x', 'x-request-id': key };
    const response = { atMs: 1, status: 401, headers, chunks };
    const error = { name: 'Error', message: key };
    const bad = { ...good, request, response, end: { atMs: 12, how: 'error', error } as const };
    const { status, out } = run('check', file(encodeCassette({ exchanges: [good, bad] })));
    expect(status).toBe(1);
    expect(out.join()).not.toContain(key);
    const places = out.flatMap(
      (line) => line.match(/^problem: exchange 1, (.*): it looks/)?.[1] ?? [],
    );
    expect(places).toEqual([
      'URL',
      'request body',
      'error',
      'response header authorization',
      'response header x-request-id',
      'chunk 0',
      'chunk 1',
    ]);
  });

  test('rejects an incomplete recording', () => {
    const clipped = { ...good, end: { ...good.end, clipped: { chunks: 1, bytes: 1 } } };
    const { status, out } = run(
      'check',
      file(encodeCassette({ exchanges: [clipped], unrecorded: 2 })),
    );
    expect(status).toBe(1);
    expect(out.filter((line) => line.startsWith('problem'))).toEqual([
      'problem: exchange 0: it is incomplete; record it again with larger limits',
      'problem: 2 requests not recorded; record again with a larger limit',
    ]);
  });

  test('names the line at which a file is not a cassette', () => {
    const lines = encodeCassette({ exchanges: [good] }).split('\n');
    const torn = run('check', file(lines.slice(0, 4).join('\n')));
    expect(torn.status).toBe(1);
    expect(torn.out[0]).toMatch(/^problem: .*one\.jsonl: Cannot read line 5 of a cassette/);
    const absent = run('check', join(folder, 'absent.jsonl'));
    expect(absent.status).toBe(1);
    expect(absent.out[0]).toContain('no such file');
  });
});

test.each([[[]], [['show']], [['play', 'x']], [['show', 'x', 'y']]])(
  'cassette %j prints the usage',
  (args) => {
    const { status, stderr } = run(...args);
    expect(status).toBe(2);
    expect(stderr).toContain('Usage: npm run cassette -- <command> <file>');
  },
);
