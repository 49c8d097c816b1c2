import { type Delta, type Fact, type LogRecord, noUsage, recordVersion } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { MetricsCollector, seriesOf } from './metrics.ts';

type Entry = { readonly time: number; readonly turn?: number; readonly attempt?: number } & (
  | { readonly fact: object }
  | { readonly delta: object }
);

function seriesFor(...all: readonly Entry[]) {
  const metrics = new MetricsCollector();
  for (const [index, { time, turn = 1, attempt = 1, ...content }] of all.entries()) {
    const head = { v: recordVersion, offset: index + 1, time, turn, attempt, producer: 'test' };
    metrics.add({ ...head, ...(content as { fact: Fact } | { delta: Delta }) } as LogRecord);
  }
  return seriesOf(metrics.attempts);
}

const started = { type: 'response_started', itemId: 'i', provider: 'p', model: 'm' };
const token = { type: 'append_text', partId: '1.1.a', at: 0, chunk: 'x' };
const finished = (usage: object) => ({
  ...{ type: 'response_finished', itemId: 'i', stop: { reason: 'stop' } },
  usage: { ...noUsage, ...usage },
});
const usd = (amount: string) => ({ costs: [{ amount, currency: 'USD' }] });

describe('the metrics of a session', () => {
  test('count tokens per second from the first token on', () => {
    const { tokensPerSecond, firstTokenMs } = seriesFor(
      { time: 0, fact: started },
      { time: 500, delta: token },
      { time: 2500, fact: finished({ output: 100 }) },
    );
    expect(tokensPerSecond).toMatchObject([
      { from: 500, to: 2500, value: 50, text: '50.0 tokens/s' },
    ]);
    expect(firstTokenMs).toMatchObject([{ from: 0, to: 500, value: 500 }]);
  });

  test('mark estimated usage', () => {
    const { tokensPerSecond } = seriesFor(
      { time: 0, delta: token },
      { time: 1000, fact: finished({ output: 10, estimated: true }) },
    );
    expect(tokensPerSecond).toMatchObject([{ text: '≈ 10.0 tokens/s' }]);
  });

  test('are estimated while an answer streams, and marked as estimates', () => {
    const chunk = 'x'.repeat(40);
    const { tokensPerSecond, context } = seriesFor(
      { time: 0, delta: { ...token, chunk } },
      { time: 2000, delta: { ...token, chunk, at: 40 } },
    );
    expect(tokensPerSecond).toMatchObject([{ from: 0, to: 2000, text: '≈ 10.0 tokens/s' }]);
    expect(context).toEqual([]);
  });

  test('do not count tool output as the first token', () => {
    const { firstTokenMs, tokensPerSecond } = seriesFor(
      { time: 0, fact: started },
      { time: 100, fact: finished({ output: 5 }) },
      { time: 900, delta: token },
    );
    expect([firstTokenMs, tokensPerSecond]).toEqual([[], []]);
  });

  test('add costs exactly, including superseded attempts, each by its last report', () => {
    const { cost, currency } = seriesFor(
      { time: 0, fact: started },
      { time: 1, fact: { type: 'usage_reported', usage: { ...noUsage, ...usd('0.05') } } },
      { time: 2, fact: { type: 'usage_reported', usage: { ...noUsage, ...usd('0.1') } } },
      { time: 3, fact: { type: 'attempt_superseded', reason: 'cut' } },
      { time: 4, attempt: 2, fact: started },
      { time: 5, attempt: 2, fact: finished(usd('0.2')) },
    );
    expect(cost.map(({ text, isSuperseded }) => [text, isSuperseded])).toEqual([
      ['0.1 USD', true],
      ['0.3 USD', false],
    ]);
    expect(currency).toBe('USD');
  });

  test('contain the context size after each request', () => {
    const { context } = seriesFor(
      { time: 0, fact: started },
      { time: 1, fact: finished({ input: 900, output: 100 }) },
      { time: 2, turn: 2, fact: started },
      { time: 3, turn: 2, fact: finished({ input: 1100, output: 50 }) },
    );
    expect(context.map(({ turn, value, text }) => [turn, value, text])).toEqual([
      [1, 1000, '1,000 tokens'],
      [2, 1150, '1,150 tokens'],
    ]);
  });

  test('are none where no usage was reported', () => {
    const { cost, context, tokensPerSecond } = seriesFor({ time: 0, delta: token });
    expect([cost, context, tokensPerSecond]).toEqual([[], [], []]);
  });
});
