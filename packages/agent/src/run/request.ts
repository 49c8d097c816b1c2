import type { DraftRecord, ErrorInfo, ItemId } from '@millrace/core';
import type { Provider, ProviderError, ResponseEnd } from '@millrace/providers';
import { halted, raceAbort, wait } from '../abortable.ts';
import { buildRequest, prepareRequest } from '../context/build-request.ts';
import type { TurnState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { ResolvedStep } from '../contract/settings.ts';
import type { StepInfo } from '../contract/tool.ts';
import { responseFinished } from '../state/drafts.ts';
import { runAttempt } from './stream-response.ts';

/** Work that runs while an attempt streams: the tools that started early. */
interface ConcurrentWork {
  /** Stops the work and waits until it has ended. */
  halt(): Promise<void>;
  /** After this call, later results of tools are ignored. */
  abandon(): void;
}

/**
 * Requests a turn's response. Each call of `attempt` makes one attempt. If the attempt fails, the request is
 * retried, is sent to a fallback provider, or ends with an error.
 */
export class TurnRequest {
  readonly #context: RunContext;
  /** The index of the current provider, in the agent's list. */
  #providerIndex = 0;
  /** The changes of `prepareStep` for this turn. Undefined until `prepareStep` was called. */
  #prepared: ResolvedStep | undefined;
  /** The index of the current provider, in the list that `prepareStep` returned. */
  #preparedIndex = 0;
  /** The number of failed attempts with the current provider in this turn. */
  #failures = 0;
  #turn = 0;
  #providers: readonly Provider[] = [];

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * Makes one attempt. Resolves when the response is finished. If the attempt must be repeated, it resolves
   * when the retry delay is over.
   */
  async attempt(turn: TurnState, concurrent: ConcurrentWork): Promise<void> {
    const { signal, journal, phase, context, session } = this.#context;
    this.#startTurn(turn.turn);
    const loaded = await raceAbort(this.#context.loadStepTools(turn.turn), signal);
    if (loaded === halted || phase.isAborting) return;
    const { settings } = this.#context;
    const at = { turn: turn.turn, attempt: turn.attempt + 1 };
    const { state, loop } = journal;
    const step = { context, session, turn: at.turn };
    const prepared = await raceAbort(this.#prepare(step), signal);
    if (prepared === halted || phase.isAborting) return;
    const { providers, index } = this.#candidates;
    const provider = providers[index] ?? providers[0];
    if (provider === undefined) return;
    const work = buildRequest(settings, state, loop, step, prepared);
    const request = await raceAbort(work, signal);
    if (request === halted || phase.isAborting) return;
    const offered = { kind: 'assistant', tools: prepared.tools } as const;
    const { end, itemId } = await runAttempt(this.#context, {
      ...{ provider, request, ...offered, ...at },
    });
    const { error, usage } = end;
    if (error === undefined) return;
    await concurrent.halt();
    // After an abort, the partial answer is kept even if the request has failed.
    const delayMs = phase.isAborting ? undefined : this.#retryDelay(error);
    if (delayMs === undefined) {
      await journal.write(this.#finalDrafts(at, itemId, end));
      return;
    }
    concurrent.abandon();
    await journal.write([
      { ...at, fact: { type: 'usage_reported', usage } },
      { ...at, fact: { type: 'attempt_superseded', reason: error.kind } },
      { ...at, fact: { type: 'retry_scheduled', error: error.info, delayMs } },
    ]);
    await wait(settings.clock, delayMs, signal);
  }

  /** The provider to which requests are currently sent. */
  get provider(): Provider | undefined {
    const { providers } = this.#context.settings;
    return providers[providers === this.#providers ? this.#providerIndex : 0];
  }

  /** Calls `prepareStep` for this turn, once. Retries of the request use the same changes. */
  async #prepare(step: StepInfo): Promise<ResolvedStep> {
    if (this.#prepared !== undefined) return this.#prepared;
    const { settings, journal, parent } = this.#context;
    const chosen = await prepareRequest(settings, journal.state, journal.loop, step);
    // Tools from functions can change in each turn. Their names are written to the log, so every process can
    // determine which tools were offered.
    const offered = settings.stepTools.length > 0 ? [...settings.tools.keys()] : undefined;
    const prepared = { ...chosen, tools: chosen.tools ?? offered };
    if (prepared.providers !== undefined) parent?.checkPrices(prepared.providers.slice(0, 1));
    this.#prepared = prepared;
    return prepared;
  }

  /** The providers of this turn, and the index of the current one. */
  get #candidates(): { readonly providers: readonly Provider[]; readonly index: number } {
    const { providers } = this.#prepared ?? {};
    if (providers !== undefined) return { providers, index: this.#preparedIndex };
    return { providers: this.#context.settings.providers, index: this.#providerIndex };
  }

  /**
   * Resets the state for a new turn. A fallback provider stays in use for later turns, until a hand-off
   * changes the list of providers.
   */
  #startTurn(turn: number): void {
    const { providers } = this.#context.settings;
    if (providers !== this.#providers) this.#providerIndex = 0;
    this.#providers = providers;
    if (turn === this.#turn) return;
    this.#turn = turn;
    this.#failures = 0;
    this.#prepared = undefined;
    this.#preparedIndex = 0;
  }

  /** Returns the records that end the response and keep the partial answer. */
  #finalDrafts(
    at: { readonly turn: number; readonly attempt: number },
    itemId: ItemId,
    { error, stop, usage, details }: ResponseEnd,
  ): readonly DraftRecord[] {
    if (this.#context.phase.isAborting)
      return [responseFinished(at, itemId, { reason: 'aborted' }, usage, details)];
    if (error === undefined) return [responseFinished(at, itemId, stop, usage, details)];
    return [
      { ...at, fact: { type: 'error_reported', error: withRetryHint(error) } },
      responseFinished(at, itemId, { reason: 'error', cause: error.kind }, usage, details),
    ];
  }

  /**
   * Returns the delay before the next attempt, in milliseconds. Returns undefined if the request is not tried
   * again.
   */
  #retryDelay(error: ProviderError): number | undefined {
    const { settings, journal } = this.#context;
    const { retry, random } = settings;
    const { providers, index } = this.#candidates;
    const failures = ++this.#failures;
    // The log has the fact that a provider rejected the reasoning, so the next request omits the reasoning.
    const isRejectedAgain = journal.loop.rejectedReasoning === this.#turn;
    const dropsReasoning = error.retry === 'once_without_reasoning' && !isRejectedAgain;
    const maxAttempts = retry.attemptsFor?.[error.kind] ?? retry.maxAttempts;
    const attemptsByRetry = { yes: maxAttempts, once: 2, no: 1 };
    const allowed = dropsReasoning
      ? maxAttempts
      : error.retry in attemptsByRetry
        ? attemptsByRetry[error.retry as 'no']
        : 1;
    const hintMs = error.retryAfterMs ?? 0;
    if (failures < Math.min(allowed, maxAttempts) && hintMs <= retry.maxDelayMs) {
      const backoffMs = Math.min(retry.maxDelayMs, retry.baseDelayMs * 2 ** (failures - 1));
      return Math.max(hintMs, Math.round(backoffMs * (0.5 + random() / 2)));
    }
    if (index + 1 >= providers.length || !mayFallBack(error)) return undefined;
    if (providers === this.#providers) this.#providerIndex++;
    else this.#preparedIndex++;
    this.#failures = 0;
    return 0;
  }
}

/** Returns the error with the provider's retry hint, for users who retry manually. */
function withRetryHint({ info, retryAfterMs }: ProviderError): ErrorInfo {
  if (retryAfterMs === undefined) return info;
  const seconds = Math.ceil(retryAfterMs / 1000);
  return { ...info, message: `${info.message} (it asks to wait ${seconds} s)` };
}

/** Returns true if a different provider may succeed. An invalid request would fail with every provider. */
function mayFallBack({ kind }: ProviderError): boolean {
  return kind !== 'aborted' && kind !== 'invalid_request';
}
