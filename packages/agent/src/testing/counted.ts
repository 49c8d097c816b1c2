import type { Usage } from '@millrace/core';
import { type Provider, wrapProvider } from '@millrace/providers';
import type { Tool } from '../tool/tool.ts';

/** What is under way. */
interface Busy {
  readonly streams: number;
  readonly tools: number;
}

export interface Counted {
  readonly provider: Provider;
  readonly tools: readonly Tool[];
  now(): Busy;
  /** The most there was at a time. */
  most(): Busy;
  /** What the streams said in the end that they used. */
  used(): readonly Usage[];
}

export interface CountOptions {
  readonly provider: Provider;
  /** None of them a generator. */
  readonly tools: readonly Tool[];
  /** What each of them does before it is over, so that one notices who does not wait for that. */
  readonly close: (() => Promise<void>) | undefined;
  readonly onBegin: (what: keyof Busy) => void;
}

/** The same provider and tools, whose streams and executions are counted from their begin to their end. */
export function counted({ provider, tools, close, onBegin }: CountOptions): Counted {
  let now: Busy = { streams: 0, tools: 0 };
  let most = now;
  const used: Usage[] = [];
  const begin = (what: keyof Busy) => {
    now = { ...now, [what]: now[what] + 1 };
    most = { ...most, [what]: Math.max(most[what], now[what]) };
    onBegin(what);
  };
  const end = async (what: keyof Busy) => {
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
