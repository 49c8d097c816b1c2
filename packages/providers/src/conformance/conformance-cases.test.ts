import { AsyncLocalStorage } from 'node:async_hooks';
import type { Delta } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Provider, ResponseEnd, StreamStep } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { providerOf } from '../provider/create-provider.ts';
import { limitConcurrency } from '../provider/limit-concurrency.ts';
import { wrapProvider } from '../provider/wrap-provider.ts';
import { scriptedSubject as scripted, wireSubject } from '../testing/conformance/subjects.ts';
import { wireTable } from '../testing/wire-table.ts';
import { systemClock } from '../transport/clock.ts';
import { conformanceCases } from './conformance-cases.ts';
import type { ConformanceSubject } from './subject.ts';

describe('scripted', () => {
  test.each(conformanceCases(scripted))('$name', ({ run }) => run());
});

describe.each(wireTable)('$wire', (under) => {
  test.each(conformanceCases(wireSubject(under)))('$name', ({ run }) => run());
});

describe('a provider that violates the contract fails the cases:', () => {
  type Wrapped = (provider: Provider) => Provider;

  /** Pending timers of these cases. Timers of other code in this process do not count. */
  const open = new Set<symbol>();
  const isCaseTimer = new AsyncLocalStorage<true>();
  const { after } = systemClock;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    vi.spyOn(systemClock, 'after').mockImplementation((ms, run) => {
      if (isCaseTimer.getStore() === undefined) return after(ms, run);
      const timer = Symbol();
      open.add(timer);
      const over = () => open.delete(timer);
      const cancel = after(ms, () => {
        over();
        run();
      });
      return () => {
        over();
        cancel();
      };
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
    expect(open.size).toBe(0);
  });

  /** The names of the cases that a provider fails. */
  const failing = async (wrap: Wrapped): Promise<readonly string[]> => {
    const broken: ConformanceSubject = {
      provider: async (answer) => wrap(await scripted.provider(answer)),
    };
    let isOver = false;
    const results = Promise.all(
      conformanceCases(broken).map(({ name, run }) =>
        isCaseTimer.run(true, run).then(
          () => [],
          () => [name],
        ),
      ),
    ).finally(() => {
      isOver = true;
    });
    while (!isOver) await vi.advanceTimersByTimeAsync(1000);
    return (await results).flat();
  };

  const changing = (change: (step: StreamStep) => readonly StreamStep[]): Wrapped =>
    mapping(async function* (steps) {
      for await (const step of steps) yield* change(step);
    });

  const mapping =
    (map: (steps: AsyncIterable<StreamStep>) => AsyncIterable<StreamStep>): Wrapped =>
    (provider) =>
      wrapProvider(provider, (request, context, next) => map(next(request, context)));

  const changingDeltas = (change: (delta: Delta) => readonly Delta[]): Wrapped =>
    changing(({ deltas, ...rest }) => [{ deltas: deltas.flatMap(change), ...rest }]);

  const changingEnd = (change: (end: ResponseEnd) => ResponseEnd): Wrapped =>
    changing(({ deltas, end }) => [{ deltas, ...(end && { end: change(end) }) }]);

  test('a correct provider passes all cases', async () => {
    expect(await failing((provider) => provider)).toEqual([]);
    expect(await failing(changing((step) => [step]))).toEqual([]);
    const limited: Wrapped = (provider) => limitConcurrency(provider, { maxConcurrent: 1 });
    expect(await failing(limited)).toEqual([]);
  });

  test('no end', async () => {
    expect(await failing(changing(({ deltas }) => [{ deltas }]))).not.toEqual([]);
  });

  test('two ends', async () => {
    expect(await failing(changing((step) => [step, ...(step.end ? [step] : [])]))).not.toEqual([]);
  });

  test('a lost delta', async () => {
    const lost = changingDeltas((delta) => (delta.type === 'commit_part' ? [] : [delta]));
    expect(await failing(lost)).not.toEqual([]);
  });

  test('appends at the wrong position', async () => {
    const twice = changingDeltas((delta) => [
      delta.type === 'append_text' ? { ...delta, at: delta.at + 1 } : delta,
    ]);
    expect(await failing(twice)).not.toEqual([]);
  });

  test('success instead of an error', async () => {
    const hidden = changingEnd(({ error: _hidden, ...end }) => ({
      ...end,
      stop: { reason: 'stop' },
    }));
    expect(await failing(hidden)).toContain('calls and then cut: no call may run');
  });

  test('cut text that is committed as complete', async () => {
    const whole = changingDeltas((delta) => {
      if (delta.type !== 'commit_part' || delta.part !== undefined) return [delta];
      const { partial: _partial, ...commit } = delta;
      return [commit];
    });
    expect(await failing(whole)).toEqual([
      'text and then cut: the text is kept as partial, with an error',
      'text and then error: the text is kept as partial, with an error',
      'aborted during a stall: the stream ends as aborted and keeps its text',
    ]);
  });

  test('complete text that is marked partial', async () => {
    const partial = changingDeltas((delta) => [
      delta.type === 'commit_part' && delta.part === undefined
        ? { ...delta, partial: true }
        : delta,
    ]);
    expect(await failing(partial)).toContain('text arrives unchanged, and the stop reason is stop');
  });

  test('open calls of a cut answer that are committed', async () => {
    const committed = mapping(async function* (steps) {
      const lengths = new Map<string, number>();
      for await (const { deltas, ...rest } of steps) {
        for (const delta of deltas)
          if (delta.type === 'append_text')
            lengths.set(delta.partId, delta.at + delta.chunk.length);
        const commit = (delta: Delta): Delta => {
          if (delta.type !== 'retract_part') return delta;
          const { partId } = delta;
          return { type: 'commit_part', partId, length: lengths.get(partId) ?? 0 };
        };
        yield { deltas: deltas.map(commit), ...rest };
      }
    });
    expect(await failing(committed)).toEqual([
      'calls and then cut: no call may run',
      'calls and then error: no call may run',
    ]);
  });

  test('everything in one step', async () => {
    const atOnce = mapping(async function* (steps) {
      const deltas: Delta[] = [];
      for await (const step of steps) {
        deltas.push(...step.deltas);
        if (step.end) yield { deltas, end: step.end };
      }
    });
    expect(await failing(atOnce)).toEqual([
      'text arrives in pieces, not all at the end',
      'aborted during a stall: the stream ends as aborted and keeps its text',
      'the reader may leave the stream at any time',
      'the reader may leave while it waits for the next step',
    ]);
  });

  test.each([
    ['negative', -1],
    ['fractional', 1.5],
    ['not a number', Number.NaN],
    ['endless', Number.POSITIVE_INFINITY],
  ])('usage that is %s', async (_, input) => {
    const odd = changingEnd((end) => ({ ...end, usage: { ...end.usage, input } }));
    expect(await failing(odd)).toContain('text arrives unchanged, and the stop reason is stop');
  });

  test('a cut stream that reports another error', async () => {
    const odd = changingEnd((end) =>
      end.error?.kind === 'truncated_stream'
        ? { ...end, error: new ProviderError('auth', 'no', { provider: 'scripted' }) }
        : end,
    );
    expect(await failing(odd)).toEqual([
      'text and then cut: the text is kept as partial, with an error',
      'calls and then cut: no call may run',
    ]);
  });

  test('the error of another provider', async () => {
    const odd = changingEnd((end) =>
      end.error === undefined
        ? end
        : { ...end, error: new ProviderError(end.error.kind, 'no', { provider: 'another' }) },
    );
    expect(await failing(odd)).toContain(
      'text and then error: the text is kept as partial, with an error',
    );
  });

  test('a complete that throws or differs from the stream', async () => {
    const cases = [
      'complete of a complete answer returns the folded stream',
      'complete of a cut answer returns the folded stream',
    ];
    const throwing: Wrapped = (provider) => ({
      ...provider,
      complete: () => Promise.reject(new Error('no')),
    });
    expect(await failing(throwing)).toEqual(cases);
    const other: Wrapped = (provider) => ({
      ...provider,
      complete: async (...asked) => ({
        ...(await provider.complete(...asked)),
        stop: { reason: 'pause' },
      }),
    });
    expect(await failing(other)).toEqual(cases);
    const silent: Wrapped = (provider) => ({
      ...provider,
      complete: async (...asked) => {
        const completion = await provider.complete(...asked);
        return { ...completion, item: { ...completion.item, parts: [] } };
      },
    });
    expect(await failing(silent)).toEqual(cases);
  });

  test('a stream that the reader cannot leave while it stalls', async () => {
    const uncloseable: Wrapped = (provider) =>
      providerOf(provider.id, provider.model, async function* (request, context) {
        yield* provider.stream(request, context);
      });
    expect(await failing(uncloseable)).toEqual([
      'the reader may leave while it waits for the next step',
    ]);
  });
});
