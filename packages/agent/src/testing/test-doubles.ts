import type { Batch, DraftRecord, Usage } from '@millrace/core';
import type { Driver, Log } from '@millrace/log';
import { type Provider, wrapProvider } from '@millrace/providers';
import type { Tool } from '../contract/tool.ts';

/** The number of running streams and tools. */
interface Activity {
  readonly streams: number;
  readonly tools: number;
}

interface ActivityCounter {
  readonly provider: Provider;
  readonly tools: readonly Tool[];
  now(): Activity;
  /** Returns the highest numbers at any time. */
  most(): Activity;
  /** Returns the usage that the streams reported at their end. */
  used(): readonly Usage[];
}

interface CountOptions {
  readonly provider: Provider;
  /** The tools to count. Tools that are generators are not supported. */
  readonly tools: readonly Tool[];
  /** Awaited before each stream or tool ends. It reveals callers that do not wait for the end. */
  readonly close: (() => Promise<void>) | undefined;
  readonly onBegin: (what: keyof Activity) => void;
}

/** Wraps a provider and tools to count running streams and executions. */
export function countActivity({ provider, tools, close, onBegin }: CountOptions): ActivityCounter {
  let now: Activity = { streams: 0, tools: 0 };
  let most = now;
  const used: Usage[] = [];
  const begin = (what: keyof Activity) => {
    now = { ...now, [what]: now[what] + 1 };
    most = { ...most, [what]: Math.max(most[what], now[what]) };
    onBegin(what);
  };
  const end = async (what: keyof Activity) => {
    if (close !== undefined) await close();
    now = { ...now, [what]: now[what] - 1 };
  };
  return {
    provider: wrapProvider(provider, async function* (request, context, next) {
      begin('streams');
      try {
        for await (const step of next(request, context)) {
          if (step.end) used.push(step.end.usage);
          yield step;
        }
      } finally {
        await end('streams');
      }
    }),
    tools: tools.map((tool) => ({
      ...tool,
      execute: (input, context) => {
        begin('tools');
        const execution = tool.execute(input, context) as Promise<never>;
        return execution.finally(() => end('tools'));
      },
    })),
    now: () => now,
    most: () => most,
    used: () => used,
  };
}

/** Returns the object, for example a log, with some methods replaced. */
export function withMethods<T extends object>(of: T, own: Partial<T>): T {
  return new Proxy(of, {
    get(target, name) {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Returns a log that awaits `before` ahead of each append of a driver. */
export function withDelay(
  log: Log,
  before: (drafts: readonly DraftRecord[]) => Promise<void>,
): Log {
  return withAppends(log, async (append, drafts) => {
    await before(drafts);
    return append();
  });
}

/** Returns a log that calls `around` in place of each append of a driver. */
export function withAppends(
  log: Log,
  around: (append: () => Promise<Batch>, drafts: readonly DraftRecord[]) => Promise<Batch>,
): Log {
  const delayed = (driver: Driver): Driver => ({
    ...{ session: driver.session, epoch: driver.epoch, lost: driver.lost },
    incarnation: driver.incarnation,
    append: (drafts) => around(() => driver.append(drafts), drafts),
    admit: (options) => driver.admit(options),
    closeSession: () => driver.closeSession(),
    release: () => driver.release(),
    detach: () => driver.detach(),
  });
  const open: Log['open'] = async (...given) => delayed(await log.open(...given));
  return withMethods(log, { open });
}
