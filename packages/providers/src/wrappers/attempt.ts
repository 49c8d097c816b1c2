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

/**
 * The time to wait for the usage of a request after its abort, in milliseconds. Providers usually report it
 * immediately.
 */
const abortGraceMs = 5000;

/** One of several requests for the same answer. If the request is aborted, its usage is still counted. */
export class Attempt {
  readonly provider: Provider;
  readonly #steps: AsyncIterator<StreamStep>;
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  #pending: Promise<StreamStep | undefined> | undefined;
  #end: ResponseEnd | undefined;
  #ending: Promise<void> | undefined;

  /** Prepares the request. It is sent only when the first step is requested. */
  constructor(provider: Provider, request: ModelRequest, context: StreamContext, clock: Clock) {
    this.provider = provider;
    this.#clock = clock;
    const { signal } = this.#controller;
    const joined =
      context.signal === undefined ? signal : AbortSignal.any([context.signal, signal]);
    this.#steps = provider.stream(request, { ...context, signal: joined })[Symbol.asyncIterator]();
  }

  /**
   * Returns the next step. If the stream stops without an end, the provider violated its contract, and the
   * step contains an error.
   */
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

  /** Returns the first step that has content or an end. */
  async opening(): Promise<StreamStep> {
    for (;;) {
      const step = await this.next();
      if (step.deltas.length > 0 || step.end !== undefined) return step;
    }
  }

  /**
   * Aborts the request and returns its usage. `outcome` is the reason why its answer is not used.
   */
  async abandon(outcome: string): Promise<OtherRequest> {
    if (this.#end === undefined) {
      this.#controller.abort();
      this.#ending ??= this.#ended();
      await this.#ending;
    }
    return this.account(outcome);
  }

  /** Returns the usage of the request until now. */
  account(outcome: string): OtherRequest {
    const { id, model } = this.provider;
    return { provider: id, model, outcome, usage: this.#end?.usage ?? brokenEnd.usage };
  }

  /** Aborts the request without waiting, because the caller stopped reading. */
  leave(): void {
    if (this.#end === undefined) void this.abandon('aborted').catch(() => {});
  }

  async #read(): Promise<StreamStep | undefined> {
    const step = await this.#steps.next();
    if (step.done) return undefined;
    this.#end ??= step.value.end;
    return step.value;
  }

  /**
   * Waits a limited time for the end of an aborted request. If a provider ignores the abort, it must not
   * block the other requests.
   */
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
      // A stream that throws has ended, so the error is ignored.
    }
  }
}

const brokenEnd = {
  stop: { reason: 'error', cause: 'protocol_error' },
  usage: { ...noUsage, estimated: true },
} as const;

/** Adds the usage of the other requests to the end of an answer, and lists these requests in its details. */
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
 * Returns the data about the model for a wrapper with several providers. It is the data of the first provider.
 * The prices are omitted if the cost of a different provider is unknown or has a different currency, because a
 * cost limit cannot count such a cost.
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
