import { noUsage } from '@millrace/core';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import type { ResponseEnd } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { scriptedProvider } from '../scripted/index.ts';
import { openStream } from '../testing/open-stream.ts';
import { watchRejections } from '../testing/watch-rejections.ts';
import { abortOnReturn } from './abort-on-return.ts';
import { createProvider } from './create-provider.ts';
import { limitConcurrency } from './limit-concurrency.ts';

watchRejections();

const asked = (name: string) => ({ items: [], providerOptions: { any: { user: name } } });
const error = new ProviderError('overloaded', 'no', { provider: 'held' });
const usage = noUsage;
const endings = {
  stop: { stop: { reason: 'stop' }, usage },
  error: { stop: { reason: 'error', cause: 'overloaded' }, usage, error },
  aborted: { stop: { reason: 'aborted', cause: 'aborted' }, usage },
} as const satisfies Record<string, ResponseEnd>;

/** Streams that report when they start and end when the test ends them. */
class ControlledStreams {
  readonly started: string[] = [];
  readonly underWay = new Map<string, (end: ResponseEnd) => void>();

  readonly provider = createProvider('held', 'm', (request, context) =>
    abortOnReturn((left) =>
      this.#say(String(request.providerOptions?.['any']?.['user']), left, context.signal),
    ),
  );

  async *#say(name: string, left: AbortSignal, signal: AbortSignal | undefined) {
    const ended = new Promise<ResponseEnd>((resolve) => {
      const end = (how: ResponseEnd) => {
        this.underWay.delete(name);
        resolve(how);
      };
      for (const stop of [left, signal])
        stop?.addEventListener('abort', () => end(endings.aborted));
      this.started.push(name);
      this.underWay.set(name, end);
    });
    yield { deltas: [] };
    yield { deltas: [], end: await ended };
  }
}

/** Waits until all pending microtasks have run. */
// `complete` loads on demand, and a turn of the event loop is too short for it.
beforeAll(() => import('./complete.ts'));

const settled = () => new Promise((resolve) => setImmediate(resolve));

const limited = (maxConcurrent: number) => {
  const held = new ControlledStreams();
  const provider = limitConcurrency(held.provider, { maxConcurrent });
  const ask = (name: string, signal?: AbortSignal) => openStream(provider, signal, asked(name));
  return { held, provider, ask };
};

describe('of the streams of a provider', () => {
  test('no more than allowed are under way, and the others come in the order in which they asked', async () => {
    const { held, provider } = limited(2);
    const names = ['1', '2', '3', '4', '5'];
    const all = names.map((name) => provider.complete(asked(name)));
    await settled();
    expect(held.started).toEqual(['1', '2']);
    held.underWay.get('2')?.(endings.stop);
    await settled();
    expect(held.started).toEqual(['1', '2', '3']);
    for (const name of ['1', '3', '4', '5']) {
      held.underWay.get(name)?.(endings.stop);
      await settled();
      expect(held.underWay.size).toBeLessThanOrEqual(2);
    }
    expect(held.started).toEqual(names);
    expect((await Promise.all(all)).map(({ stop }) => stop.reason)).toEqual(
      names.map(() => 'stop'),
    );
  });

  test('one that was not asked for its first step yet waits for nothing and takes no place', async () => {
    const { held, ask } = limited(1);
    ask('unread');
    await ask('read').next();
    expect(held.started).toEqual(['read']);
  });

  test.each(['stop', 'error'] as const)(
    'one that ends with %s makes room with its end',
    async (how) => {
      const { held, ask } = limited(1);
      const first = ask('first');
      await first.next();
      held.underWay.get('first')?.(endings[how]);
      expect((await first.next())?.end).toBe(endings[how]);
      // The reader of the first stream does not request another step after the end.
      await ask('second').next();
      expect(held.started).toEqual(['first', 'second']);
    },
  );

  test('one that its reader leaves makes room, also in the middle of a read', async () => {
    const { held, ask } = limited(1);
    for (const name of ['between', 'within']) {
      const stream = ask(name);
      await stream.next();
      const read = name === 'within' ? stream.next() : undefined;
      await stream.close();
      await read;
    }
    await ask('after').next();
    expect(held.started).toEqual(['between', 'within', 'after']);
  });

  test('one that is aborted makes room, also where nobody reads it on', async () => {
    const { held, ask } = limited(1);
    const controller = new AbortController();
    const stream = ask('first', controller.signal);
    await stream.next();
    const second = ask('second').next();
    controller.abort();
    await second;
    expect(held.started).toEqual(['first', 'second']);
    expect((await stream.next())?.end?.stop.reason).toBe('aborted');
    // The end did not release the place a second time.
    const third = ask('third');
    const waiting = third.next();
    await settled();
    expect(held.started).toEqual(['first', 'second']);
    await Promise.all([third.close(), waiting]);
  });

  test('one whose provider throws makes room', async () => {
    let isBroken = true;
    const broken = createProvider('broken', 'm', async function* () {
      if (isBroken) throw new RangeError('no');
      yield { deltas: [], end: endings.stop };
    });
    const provider = limitConcurrency(broken, { maxConcurrent: 1 });
    await expect(provider.complete(asked('first'))).rejects.toThrow(RangeError);
    isBroken = false;
    expect((await provider.complete(asked('second'))).stop.reason).toBe('stop');
  });

  test('those of another limit do not count', async () => {
    const held = new ControlledStreams();
    const options = { maxConcurrent: 1 };
    await openStream(limitConcurrency(held.provider, options), undefined, asked('a')).next();
    await openStream(limitConcurrency(held.provider, options), undefined, asked('b')).next();
    expect(held.started).toEqual(['a', 'b']);
  });
});

describe('a request that waits', () => {
  test('ends at once as aborted when its signal is, is never asked, and used nothing', async () => {
    const { held, ask } = limited(1);
    const first = ask('first');
    await first.next();
    const controller = new AbortController();
    const stream = ask('waiting', controller.signal);
    const step = stream.next();
    const third = ask('third').next();
    const reason = new Error('enough');
    controller.abort(reason);
    expect(await step).toMatchObject({
      deltas: [],
      end: { stop: endings.aborted.stop, usage, error: { kind: 'aborted', provider: 'held' } },
    });
    expect((await step)?.end?.error?.cause).toBe(reason);
    expect(await stream.next()).toBeUndefined();
    held.underWay.get('first')?.(endings.stop);
    await first.next();
    await third;
    expect(held.started).toEqual(['first', 'third']);
  });

  test('ends as aborted where its signal was before it asked, with or without room', async () => {
    const { held, provider, ask } = limited(1);
    const signal = AbortSignal.abort();
    expect((await provider.complete(asked('early'), { signal })).error?.kind).toBe('aborted');
    await ask('first').next();
    expect((await provider.complete(asked('late'), { signal })).error?.kind).toBe('aborted');
    expect(held.started).toEqual(['first']);
  });

  test('gives its place on when it is aborted in the moment in which its turn comes', async () => {
    const { held, ask } = limited(1);
    const first = ask('first');
    await first.next();
    const controller = new AbortController();
    const second = ask('second', controller.signal).next();
    const third = ask('third').next();
    const leaving = first.close();
    controller.abort();
    expect((await second)?.end?.error?.kind).toBe('aborted');
    await Promise.all([leaving, third]);
    expect(held.started).toEqual(['first', 'third']);
  });

  test('goes when its reader leaves', async () => {
    const { held, ask } = limited(1);
    const first = ask('first');
    await first.next();
    const second = ask('second');
    const waiting = second.next();
    await second.close();
    expect((await waiting)?.end?.stop.reason).toBe('aborted');
    await first.close();
    await ask('third').next();
    expect(held.started).toEqual(['first', 'third']);
  });
});

test('whatever comes and goes: never too many, first come first served, and everyone is served', async () => {
  const acts = fc.constantFrom('ask', 'ask', 'ask', 'stop', 'error', 'abort', 'leave', 'settle');
  const steps = fc.array(fc.tuple(acts, fc.nat()), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (max, schedule) => {
      const { held, ask } = limited(max);
      const all = new Map<string, { leave: () => Promise<void>; abort: () => void }>();
      const gone = new Set<string>();
      const ends: Promise<unknown>[] = [];
      const start = (name: string) => {
        const controller = new AbortController();
        const stream = ask(name, controller.signal);
        ends.push(stream.rest().then((read) => read.at(-1)?.end));
        all.set(name, { leave: stream.close, abort: () => controller.abort() });
      };
      for (const [act, pick] of schedule) {
        const name = [...all.keys()][pick % Math.max(1, all.size)];
        const running = [...held.underWay.keys()][pick % Math.max(1, held.underWay.size)];
        if (act === 'ask') start(String(all.size));
        else if (act === 'settle') await settled();
        else if (act === 'stop' || act === 'error')
          held.underWay.get(running ?? '')?.(endings[act]);
        else if (name !== undefined) {
          if (act === 'abort') all.get(name)?.abort();
          else await all.get(name)?.leave();
          gone.add(name);
        }
        expect(held.underWay.size).toBeLessThanOrEqual(max);
      }
      for (let left = all.size; left >= 0; left--) {
        await settled();
        for (const end of held.underWay.values()) end(endings.stop);
      }
      // Each stream ended, unless its reader left. All others started in order.
      await Promise.all(ends);
      const stayed = [...all.keys()].filter((name) => !gone.has(name));
      expect(held.started.filter((name) => !gone.has(name))).toEqual(stayed);
      expect(held.started).toEqual([...held.started].sort((a, b) => Number(a) - Number(b)));
    }),
    { numRuns: runs(300) },
  );
});

describe('the provider that is returned', () => {
  test('is the same: its id, its model, its steps', async () => {
    const provider = limitConcurrency(scriptedProvider(['Hello!']), { maxConcurrent: 1 });
    expect(provider).toMatchObject({ id: 'scripted', model: 'script' });
    const steps = await openStream(provider).rest();
    expect(steps).toEqual(await openStream(scriptedProvider(['Hello!'])).rest());
  });

  test.each([0, -1, 1.5, Number.NaN, '2', undefined])('is not made for %s at once', (given) => {
    const make = () =>
      limitConcurrency(new ControlledStreams().provider, { maxConcurrent: given as number });
    expect(make).toThrow(/^Cannot limit held to .* as maxConcurrent: use a whole number of 1 or/);
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_request', provider: 'held' }));
  });

  test('may have no limit', async () => {
    const { held, ask } = limited(Number.POSITIVE_INFINITY);
    for (const name of ['a', 'b', 'c']) await ask(name).next();
    expect(held.underWay.size).toBe(3);
  });
});
