import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../providers/src/testing/virtual-clock.ts';
import { type OtlpOptions, otlpExporter } from './otlp-exporter.ts';
import type { FinishedSpan } from './otlp-span.ts';

const span = (name: string, more: Partial<FinishedSpan> = {}): FinishedSpan => ({
  ...{ traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), name, kind: 2 },
  ...{ startMs: 1_763_200_000_000.5, endMs: 1_763_200_000_250, attributes: {} },
  ...more,
});

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
  readonly names: readonly string[];
}

function stage(options: Partial<OtlpOptions> = {}, statuses: readonly (number | 'down')[] = []) {
  const clock = new VirtualClock();
  const sent: Sent[] = [];
  const problems: string[] = [];
  const left = [...statuses];
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    const { resourceSpans } = JSON.parse(String(init.body));
    const { spans } = resourceSpans[0].scopeSpans[0];
    sent.push({ url: String(url), init, names: spans.map((one: FinishedSpan) => one.name) });
    const status = left.shift() ?? 200;
    if (status === 'down') throw new TypeError('fetch failed');
    return new Response('{}', { status });
  };
  const exporter = otlpExporter({
    ...{ url: 'http://collector.test:4318', fetch: fetch as typeof globalThis.fetch, clock },
    onDiagnostic: (problem) => problems.push(problem),
    ...options,
  });
  return { exporter, clock, sent, problems };
}

/** Advances the clock and runs the due timers. */
async function pass(clock: VirtualClock, ms: number): Promise<void> {
  clock.advance(ms);
  await new Promise(setImmediate);
}

describe('otlpExporter', () => {
  test('sends spans as OTLP/JSON', async () => {
    const { exporter, sent } = stage({ serviceName: 'my-app', headers: { 'x-key': 'k' } });
    const attributes = { a: 'text', b: true, c: 7, d: 0.5, e: ['x', 'y'], f: undefined };
    const status = { code: 2, message: 'rate_limited' };
    exporter.export(span('chat gpt', { parentSpanId: 'ef'.repeat(8), attributes, status }));
    await exporter.flush();
    const [request = expect.fail()] = sent;
    expect(request.url).toBe('http://collector.test:4318/v1/traces');
    expect(new Headers(request.init.headers).get('content-type')).toBe('application/json');
    expect(new Headers(request.init.headers).get('x-key')).toBe('k');
    const { resourceSpans } = JSON.parse(String(request.init.body));
    expect(resourceSpans[0].resource.attributes).toEqual([
      { key: 'service.name', value: { stringValue: 'my-app' } },
    ]);
    expect(resourceSpans[0].scopeSpans[0].spans).toEqual([
      {
        ...{ traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), parentSpanId: 'ef'.repeat(8) },
        ...{ name: 'chat gpt', kind: 3, flags: 1, status, events: [] },
        ...{ startTimeUnixNano: '1763200000000500000', endTimeUnixNano: '1763200000250000000' },
        attributes: [
          { key: 'a', value: { stringValue: 'text' } },
          { key: 'b', value: { boolValue: true } },
          { key: 'c', value: { intValue: '7' } },
          { key: 'd', value: { doubleValue: 0.5 } },
          {
            key: 'e',
            value: { arrayValue: { values: [{ stringValue: 'x' }, { stringValue: 'y' }] } },
          },
        ],
      },
    ]);
  });

  test('waits for a batch, and sends a full batch at once', async () => {
    const { exporter, clock, sent } = stage({ maxBatch: 3, everyMs: 1000 });
    exporter.export(span('a'));
    await pass(clock, 999);
    expect(sent).toEqual([]);
    await pass(clock, 1);
    expect(sent.map(({ names }) => names)).toEqual([['a']]);
    for (const name of 'bcd') exporter.export(span(name));
    await exporter.flush();
    expect(sent.map(({ names }) => names)).toEqual([['a'], ['b', 'c', 'd']]);
  });

  test('drops spans over the limit, and reports how many', async () => {
    const { exporter, sent, problems } = stage({ maxQueued: 2 });
    for (const name of 'abcde') exporter.export(span(name));
    await exporter.flush();
    expect(sent.flatMap(({ names }) => names)).toEqual(['a', 'b']);
    expect(problems).toEqual(['3 spans were dropped: the queue was full']);
    exporter.export(span('f'));
    await exporter.flush();
    expect(sent.at(-1)?.names).toEqual(['f']);
  });

  test('retries an unreachable collector a few times, then drops the spans', async () => {
    const { exporter, clock, sent, problems } = stage({}, ['down', 503, 'down', 200]);
    exporter.export(span('a'));
    for (let count = 0; count < 5; count++) await pass(clock, 4000);
    expect(sent.map(({ names }) => names)).toEqual([['a'], ['a'], ['a']]);
    expect(problems).toEqual(['The collector did not take 1 spans: it cannot be reached']);
    exporter.export(span('b'));
    await exporter.flush();
    expect(sent.at(-1)?.names).toEqual(['b']);
    expect(problems).toHaveLength(1);
  });

  test('does not retry a refused batch', async () => {
    const { exporter, sent, problems } = stage({}, [400]);
    exporter.export(span('a'));
    await exporter.flush();
    expect(sent).toHaveLength(1);
    expect(problems).toEqual(['The collector did not take 1 spans: it responded with status 400']);
  });

  test('sends the rest on close, with one attempt, and accepts no more', async () => {
    const { exporter, sent } = stage({}, ['down']);
    exporter.export(span('a'));
    await exporter.close();
    exporter.export(span('b'));
    await exporter.flush();
    expect(sent.map(({ names }) => names)).toEqual([['a']]);
  });

  test('cuts long texts', async () => {
    const { exporter, sent } = stage();
    exporter.export(span('a', { attributes: { text: 'x'.repeat(100_000) } }));
    await exporter.flush();
    expect(String(sent[0]?.init.body).length).toBeLessThan(40_000);
  });

  test.each([
    ['http://h:4318', 'http://h:4318/v1/traces'],
    ['http://h:4318/', 'http://h:4318/v1/traces'],
    ['https://h/otlp/v1/traces', 'https://h/otlp/v1/traces'],
  ])('sends to %s as %s', async (url, expected) => {
    const { exporter, sent } = stage({ url });
    exporter.export(span('a'));
    await exporter.flush();
    expect(sent[0]?.url).toBe(expected);
  });

  test.each(['localhost:4318', 'ftp://u:secret@h', ''])('rejects %j without quoting it', (url) => {
    const make = () => otlpExporter({ url });
    expect(make).toThrow(expect.objectContaining({ code: 'bad_option' }));
    expect(make).not.toThrow(/secret/);
  });
});
