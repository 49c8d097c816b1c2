import type { OtherRequest } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamContext, StreamStep } from '../contract/provider.ts';
import { wrapProvider } from '../provider/wrap-provider.ts';
import { type Clock, systemClock, within } from '../transport/clock.ts';
import { Attempt, commonInfo, withOthers } from './attempt.ts';
import { badOption, checkCounts, checkNames, firstOf } from './check-options.ts';

/** Options of `hedgeRequests`. */
export interface HedgeOptions {
  /** The time to wait for the first delta before an additional request is sent, in milliseconds. */
  readonly afterMs: number;
  /** Maximum number of requests for one answer. Default: 2. */
  readonly maxRequests?: number | undefined;
  /** The clock for `afterMs`. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Sends a request again if the answer does not begin in time, and uses the answer that begins first. The
 * slower requests are aborted. Their usage is part of the answer's usage, and `details.otherRequests` lists
 * them. If there are several providers, each additional request goes to the next provider in the list.
 *
 * @example
 * const provider = hedgeRequests(anthropic({ model: 'claude-sonnet-4-5' }), { afterMs: 8000 });
 */
export function hedgeRequests(
  providers: Provider | readonly Provider[],
  options: HedgeOptions,
): Provider {
  checkNames('hedgeRequests', options, ['afterMs', 'maxRequests', 'clock']);
  checkCounts('hedgeRequests', { maxRequests: options.maxRequests });
  if (!(typeof options.afterMs === 'number' && options.afterMs > 0))
    throw badOption('hedgeRequests', 'afterMs is missing; use milliseconds, more than 0');
  const all = isList(providers) ? [...providers] : [providers];
  const first = firstOf('hedgeRequests', all);
  const wrapped = wrapProvider(first, (request, context) =>
    streamHedged(all, options, request, context),
  );
  const info = commonInfo(all);
  return { ...wrapped, ...(info && { info }), ...(first.describe && { describe: first.describe }) };
}

function isList(providers: Provider | readonly Provider[]): providers is readonly Provider[] {
  return Array.isArray(providers);
}

async function* streamHedged(
  providers: readonly Provider[],
  { afterMs, maxRequests = 2, clock = systemClock }: HedgeOptions,
  request: ModelRequest,
  context: StreamContext,
): AsyncGenerator<StreamStep> {
  const race = new Race((index) => {
    const provider = providers[index % providers.length];
    return provider && new Attempt(provider, request, context, clock);
  });
  try {
    race.start();
    const won = await race.winner(afterMs, maxRequests, clock);
    const others = Promise.all(race.abandonOthers(won.attempt));
    let { step } = won;
    for (; step.end === undefined; step = await won.attempt.next()) yield step;
    const answeredBy = won.attempt.provider === providers[0] ? undefined : won.attempt.provider;
    yield { ...step, end: withOthers(step.end, await others, answeredBy) };
  } finally {
    race.leave();
  }
}

interface Opened {
  readonly attempt: Attempt;
  /** The first step that has content or an end. */
  readonly step: StreamStep;
}

/** All requests for one answer. The first request with content wins. */
class Race {
  readonly #create: (index: number) => Attempt | undefined;
  /** The requests that have not started to answer and have not failed. */
  readonly #running = new Map<Attempt, Promise<Opened>>();
  readonly #failed: OtherRequest[] = [];
  readonly #all: Attempt[] = [];

  constructor(create: (index: number) => Attempt | undefined) {
    this.#create = create;
  }

  start(): void {
    const attempt = this.#create(this.#all.length);
    if (attempt === undefined) return;
    this.#all.push(attempt);
    this.#running.set(
      attempt,
      attempt.opening().then((step) => ({ attempt, step })),
    );
  }

  /**
   * Returns the first request that has content. If all requests fail, returns the request that failed last.
   */
  async winner(afterMs: number, maxRequests: number, clock: Clock): Promise<Opened> {
    for (;;) {
      const opened = await this.#next(this.#all.length < maxRequests ? afterMs : undefined, clock);
      if (opened === undefined) {
        this.start();
        continue;
      }
      this.#running.delete(opened.attempt);
      const error = opened.step.deltas.length === 0 ? opened.step.end?.error : undefined;
      if (error === undefined || this.#running.size === 0) return opened;
      this.#failed.push(opened.attempt.account(error.kind));
    }
  }

  /** Aborts the requests whose answers are not used. Each promise resolves with the usage of one request. */
  abandonOthers(winner: Attempt): readonly Promise<OtherRequest>[] {
    const losers = [...this.#running.keys()].filter((attempt) => attempt !== winner);
    return [
      ...this.#failed.map((other) => Promise.resolve(other)),
      ...losers.map((attempt) => attempt.abandon('lost')),
    ];
  }

  leave(): void {
    for (const attempt of this.#all) attempt.leave();
  }

  /** Returns the next request that starts to answer or fails. Returns undefined if the time expires first. */
  async #next(ms: number | undefined, clock: Clock): Promise<Opened | undefined> {
    return within(Promise.race(this.#running.values()), ms, clock);
  }
}
