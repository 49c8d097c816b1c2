import {
  addUsage,
  noUsage,
  type OtherRequest,
  type ResponseDetails,
  type Usage,
} from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, ResponseEnd, StreamContext, StreamStep } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { messageFor } from '../errors/error-message.ts';
import type { Clock } from '../transport/clock.ts';

/** How long to wait for the usage of a request after its abort. Providers answer at once. */
const abortGraceMs = 5000;

/** One request among several for the same answer. It can be aborted, and its usage counts then. */
export class Attempt {
  readonly provider: Provider;
  readonly #steps: AsyncIterator<StreamStep>;
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  #pending: Promise<StreamStep | undefined> | undefined;
  #end: ResponseEnd | undefined;
  #ending: Promise<void> | undefined;

  /** Nothing is sent before the first step is requested. */
  constructor(provider: Provider, request: ModelRequest, context: StreamContext, clock: Clock) {
    this.provider = provider;
    this.#clock = clock;
    const { signal } = this.#controller;
    const joined =
      context.signal === undefined ? signal : AbortSignal.any([context.signal, signal]);
    this.#steps = provider.stream(request, { ...context, signal: joined })[Symbol.asyncIterator]();
  }

  /** The next step. A provider whose stream stops without an end broke its contract. */
  next(): Promise<StreamStep> {
    this.#pending ??= this.#read();
    return this.#pending.then((step) => {
      this.#pending = undefined;
      if (step !== undefined) return step;
      const { id } = this.provider;
      const message = messageFor('protocol_error', id, 'its stream has no end');
      const error = new ProviderError('protocol_error', message, { provider: id });
      return { deltas: [], end: { ...brokenEnd, error } };
    });
  }

  /** Reads up to the first step with content, or to the end. */
  async opening(): Promise<StreamStep> {
    for (;;) {
      const step = await this.next();
      if (step.deltas.length > 0 || step.end !== undefined) return step;
    }
  }

  /** Aborts the request and returns what it used. `outcome` tells why the answer is not used. */
  async abandon(outcome: string): Promise<OtherRequest> {
    if (this.#end === undefined) {
      this.#controller.abort();
      this.#ending ??= this.#ended();
      await this.#ending;
    }
    return this.account(outcome);
  }

  /** What the request used so far. */
  account(outcome: string): OtherRequest {
    const { id, model } = this.provider;
    return { provider: id, model, outcome, usage: this.#end?.usage ?? brokenEnd.usage };
  }

  /** Ends the request without waiting, because the caller left. */
  leave(): void {
    if (this.#end === undefined) void this.abandon('aborted').catch(() => {});
  }

  async #read(): Promise<StreamStep | undefined> {
    const step = await this.#steps.next();
    if (step.done) return undefined;
    this.#end ??= step.value.end;
    return step.value;
  }

  /** A provider that ignores the abort must not block the others. */
  async #ended(): Promise<void> {
    const timeout = Promise.withResolvers<void>();
    const cancel = this.#clock.after(abortGraceMs, timeout.resolve);
    await Promise.race([this.#drain(), timeout.promise]).finally(cancel);
    void Promise.resolve(this.#steps.return?.()).catch(() => {});
  }

  async #drain(): Promise<void> {
    try {
      while (this.#end === undefined) {
        this.#pending ??= this.#read();
        const step = await this.#pending;
        this.#pending = undefined;
        if (step === undefined) return;
      }
    } catch {
      // A stream that throws has ended.
    }
  }
}

const brokenEnd = {
  stop: { reason: 'error', cause: 'protocol_error' },
  usage: { ...noUsage, estimated: true },
} as const;

/** Adds the usage of other requests to the end of an answer, and names them in its details. */
export function withOthers(
  end: ResponseEnd,
  others: readonly OtherRequest[],
  answeredBy: Provider | undefined,
): ResponseEnd {
  if (others.length === 0 && answeredBy === undefined) return end;
  const usage = others.reduce<Usage>((sum, other) => addUsage(sum, other.usage), end.usage);
  const details: ResponseDetails = {
    ...end.details,
    ...(answeredBy && { answeredBy: { provider: answeredBy.id, model: answeredBy.model } }),
    ...(others.length > 0 && {
      otherRequests: [...(end.details?.otherRequests ?? []), ...others],
    }),
  };
  return { ...end, usage, details };
}

/**
 * Returns what is known about a choice of providers: the facts about the first one, without prices if
 * the cost of another one is unknown or has another currency. A limit of the cost would not count it.
 */
export function commonInfo(providers: readonly Provider[]): ModelInfo | undefined {
  const info = providers[0]?.info;
  const prices = providers.map((provider) => provider.info?.prices);
  const currencies = prices.flatMap((one) =>
    one === undefined || one === 'reported' ? [] : (one.currency ?? 'USD'),
  );
  if (info === undefined || (!prices.includes(undefined) && new Set(currencies).size < 2))
    return info;
  const { prices: _, ...others } = info;
  return others;
}
