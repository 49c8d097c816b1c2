import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { countingIds, type Delta } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { StreamStep } from '../contract/provider.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { type AiSdkOptions, fromAiSdk } from './index.ts';

type Part = LanguageModelV4StreamPart;

const say = (delta: string): Part => ({ type: 'text-delta', id: 't', delta });
const finish = {
  type: 'finish',
  usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
  finishReason: { unified: 'stop', raw: 'stop' },
} as Part;

/** A model whose stream the test writes. */
function controlled({ mindsCancel = true } = {}) {
  let controller: ReadableStreamDefaultController<Part> | undefined;
  const cancelled = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<LanguageModelV4CallOptions>();
  const stream = new ReadableStream<Part>(
    {
      start: (given) => {
        controller = given;
      },
      cancel: () => {
        cancelled.resolve();
        return mindsCancel ? undefined : new Promise<void>(() => {});
      },
    },
    { highWaterMark: 0 },
  );
  const doStream: LanguageModelV4['doStream'] = async (options) => {
    asked.resolve(options);
    return { stream };
  };
  return {
    doStream,
    asked: asked.promise,
    cancelled: cancelled.promise,
    write: (...parts: Part[]) => {
      for (const part of parts) controller?.enqueue(part);
    },
    close: () => controller?.close(),
  };
}

function start(
  doStream: LanguageModelV4['doStream'],
  options: AiSdkOptions = {},
  signal?: AbortSignal,
): AsyncIterator<StreamStep> {
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'maker',
    modelId: 'm-1',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('never called')),
    doStream,
  };
  const ids = countingIds();
  const context = { item: { id: ids.item(), turn: 1, attempt: 1 }, ids, signal };
  const request = {
    items: [{ id: ids.item(), kind: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
  } as const;
  return fromAiSdk(model, options).stream(request, context)[Symbol.asyncIterator]();
}

async function next(steps: AsyncIterator<StreamStep>): Promise<StreamStep> {
  const { value } = await steps.next();
  return value;
}

const chunksOf = (deltas: readonly Delta[]) =>
  deltas.flatMap((delta) => (delta.type === 'append_text' ? [delta.chunk] : []));

describe('steps', () => {
  test('the model is not called before the first step is requested', async () => {
    const model = controlled();
    let isAsked = false;
    const steps = start((options) => {
      isAsked = true;
      return model.doStream(options);
    });
    await Promise.resolve();
    expect(isAsked).toBe(false);
    model.write(say('a'), finish);
    model.close();
    await steps.next();
    expect(isAsked).toBe(true);
  });

  test('available parts come in one step, and later parts in the next', async () => {
    const model = controlled();
    const steps = start(model.doStream);
    model.write(say('a'), say('b'), say('c'));
    expect(chunksOf((await next(steps)).deltas)).toEqual(['a', 'b', 'c']);
    const second = next(steps);
    model.write(say('d'), say('e'));
    expect(chunksOf((await second).deltas)).toEqual(['d', 'e']);
    model.write(finish);
    model.close();
    expect((await next(steps)).end?.stop.reason).toBe('stop');
    expect((await steps.next()).done).toBe(true);
  });

  test('a step has a bounded number of parts, and nothing is read in advance', async () => {
    let pulls = 0;
    const stream = new ReadableStream<Part>(
      {
        pull: (controller) => {
          pulls++;
          controller.enqueue(say('x'));
        },
      },
      { highWaterMark: 0 },
    );
    const steps = start(async () => ({ stream }));
    const { deltas } = await next(steps);
    expect(chunksOf(deltas).length).toBeLessThanOrEqual(256);
    expect(pulls - chunksOf(deltas).length).toBeLessThanOrEqual(1);
    await steps.return?.();
  });

  test('an end without deltas of its own is still one step, the last', async () => {
    const steps = start(async () => ({ stream: ReadableStream.from([finish]) }));
    expect(await next(steps)).toMatchObject({ deltas: [], end: { stop: { reason: 'stop' } } });
    expect((await steps.next()).done).toBe(true);
  });

  test('a reader that leaves early cancels the stream and the request', async () => {
    const model = controlled();
    const steps = start(model.doStream);
    model.write(say('a'));
    await steps.next();
    await steps.return?.();
    await model.cancelled;
    expect((await model.asked).abortSignal?.aborted).toBe(true);
  });

  test('a stream that was read to its end is not aborted, so that its connection can be used again', async () => {
    const model = controlled();
    const clock = new VirtualClock(0);
    const steps = start(model.doStream, { clock });
    model.write(say('a'), finish);
    model.close();
    await steps.next();
    expect((await next(steps)).end?.stop.reason).toBe('stop');
    expect((await model.asked).abortSignal?.aborted).toBe(false);
    expect(clock.pending).toBe(0);
  });

  test('a stream that continues after its finish is closed after a short time, and is complete', async () => {
    const model = controlled();
    const clock = new VirtualClock(0);
    const steps = start(model.doStream, { clock });
    model.write(say('a'), finish);
    await steps.next();
    const last = next(steps);
    await Promise.resolve();
    clock.advance(50);
    expect((await last).end).toMatchObject({ stop: { reason: 'stop' } });
    await model.cancelled;
    expect(clock.pending).toBe(0);
  });

  test('requests over the limit wait in the queue', async () => {
    const models = [controlled(), controlled()];
    const asked: number[] = [];
    const provider = fromAiSdk(
      {
        specificationVersion: 'v4',
        provider: 'maker',
        modelId: 'm-1',
        supportedUrls: {},
        doGenerate: () => Promise.reject(new Error('never called')),
        doStream: (options) => {
          const model = models[asked.length];
          asked.push(asked.length);
          return model?.doStream(options) ?? Promise.reject(new Error('one too many'));
        },
      },
      { maxConcurrentRequests: 1 },
    );
    const both = [provider.complete({ items: [] }), provider.complete({ items: [] })];
    await models[0]?.asked;
    expect(asked).toEqual([0]);
    for (const model of models) {
      model.write(finish);
      model.close();
    }
    expect((await Promise.all(both)).map(({ stop }) => stop.reason)).toEqual(['stop', 'stop']);
    expect(asked).toEqual([0, 1]);
  });
});

describe('abort', () => {
  test('keeps received text as partial, cancels the stream and the request, and ends as aborted', async () => {
    const model = controlled();
    const abort = new AbortController();
    const steps = start(model.doStream, {}, abort.signal);
    model.write(say('half'), { type: 'tool-input-start', id: 'c', toolName: 'read' });
    await steps.next();
    const last = next(steps);
    abort.abort();
    const { deltas, end } = await last;
    expect(deltas).toMatchObject([
      { type: 'commit_part', length: 4, partial: true },
      { type: 'retract_part', reason: 'aborted' },
    ]);
    expect(end?.stop).toEqual({ reason: 'aborted', cause: 'aborted' });
    expect(end?.error).toMatchObject({ kind: 'aborted', retry: 'no' });
    expect(end?.usage).toMatchObject({ estimated: true });
    expect(end?.usage.input).toBeGreaterThan(0);
    await model.cancelled;
    expect((await model.asked).abortSignal?.aborted).toBe(true);
  });

  test('also ends a stream that ignores cancellation', async () => {
    const model = controlled({ mindsCancel: false });
    const abort = new AbortController();
    const steps = start(model.doStream, {}, abort.signal);
    model.write(say('half'));
    await steps.next();
    const last = next(steps);
    abort.abort();
    expect((await last).end?.stop.reason).toBe('aborted');
  });

  test('during the call ends at once, and cancels an answer that comes too late', async () => {
    const model = controlled();
    const answer = Promise.withResolvers<Awaited<ReturnType<LanguageModelV4['doStream']>>>();
    const asked = Promise.withResolvers<void>();
    const abort = new AbortController();
    const steps = start(
      () => {
        asked.resolve();
        return answer.promise;
      },
      {},
      abort.signal,
    );
    const last = next(steps);
    await asked.promise;
    abort.abort();
    expect((await last).end?.stop.reason).toBe('aborted');
    answer.resolve(model.doStream({ prompt: [] }));
    await model.cancelled;
  });

  test('before the start calls nothing and costs nothing', async () => {
    let isAsked = false;
    const steps = start(
      () => {
        isAsked = true;
        return Promise.reject(new Error('asked'));
      },
      {},
      AbortSignal.abort('enough'),
    );
    const { deltas, end } = await next(steps);
    expect(isAsked).toBe(false);
    expect(deltas).toEqual([]);
    expect(end).toMatchObject({ stop: { reason: 'aborted' }, usage: { input: 0, output: 0 } });
  });

  test('after the finish changes nothing', async () => {
    const model = controlled();
    const abort = new AbortController();
    const steps = start(model.doStream, { clock: new VirtualClock(0) }, abort.signal);
    model.write(say('a'), finish);
    await steps.next();
    const last = next(steps);
    abort.abort();
    expect((await last).end?.stop.reason).toBe('stop');
  });
});

describe('timeouts', () => {
  const timeouts = { firstByteTimeoutMs: 100, idleTimeoutMs: 10, totalTimeoutMs: 1000 };

  test('a model that does not answer has the first-byte timeout', async () => {
    const clock = new VirtualClock(0);
    const asked = Promise.withResolvers<AbortSignal | undefined>();
    const steps = start(
      ({ abortSignal }) => {
        asked.resolve(abortSignal);
        return new Promise(() => {});
      },
      { clock, timeouts },
    );
    const last = next(steps);
    const signal = await asked.promise;
    clock.advance(99);
    expect(signal?.aborted).toBe(false);
    clock.advance(1);
    const { end } = await last;
    expect(end?.error).toMatchObject({ kind: 'timeout', retry: 'yes' });
    expect(end?.error?.message).toContain('first byte');
    expect(signal?.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test('the initial warnings of a package do not count as the first byte', async () => {
    const clock = new VirtualClock(0);
    const model = controlled();
    const steps = start(model.doStream, { clock, timeouts });
    model.write({ type: 'stream-start', warnings: [] });
    const first = next(steps);
    await settled();
    clock.advance(99);
    model.write(say('a'));
    expect(chunksOf((await first).deltas)).toEqual(['a']);
    await steps.return?.();
  });

  test('a stalled answer hits the idle timeout, which a ping postpones', async () => {
    const clock = new VirtualClock(0);
    const model = controlled();
    const steps = start(model.doStream, { clock, timeouts });
    model.write(say('half'));
    await steps.next();
    const last = next(steps);
    clock.advance(9);
    model.write({ type: 'ping' });
    await settled();
    clock.advance(9);
    await settled();
    clock.advance(1);
    const { deltas, end } = await last;
    expect(end?.error?.message).toContain('idle');
    expect(end?.error?.kind).toBe('timeout');
    expect(deltas).toMatchObject([{ type: 'commit_part', partial: true }]);
    expect(clock.now()).toBe(19);
  });

  test('the time that a consumer needs for a step does not count', async () => {
    const clock = new VirtualClock(0);
    const model = controlled();
    const steps = start(model.doStream, { clock, timeouts });
    model.write(say('half'));
    await steps.next();
    clock.advance(500);
    model.write(say('whole'));
    expect((await next(steps)).end).toBeUndefined();
    await steps.return?.();
  });

  test('an answer that never ends has the total timeout', async () => {
    const clock = new VirtualClock(0);
    const model = controlled();
    const steps = start(model.doStream, { clock, timeouts: { ...timeouts, idleTimeoutMs: 5000 } });
    model.write(say('half'));
    await steps.next();
    const last = next(steps);
    clock.advance(1000);
    expect((await last).end?.error?.message).toContain('total');
  });

  /** Waits until all pending microtasks have run. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));
});
