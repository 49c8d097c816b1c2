import type { DraftRecord, ErrorInfo, ItemId } from '@millrace/core';
import type { Provider, ProviderError, ResponseEnd } from '@millrace/providers';
import { halted, raceAbort, wait } from '../abortable.ts';
import { buildRequest } from '../context/build-request.ts';
import { dropReasoning } from '../context/filters.ts';
import type { TurnState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { ContextFilter } from '../contract/settings.ts';
import { responseFinished } from '../state/drafts.ts';
import { runAttempt } from './stream-response.ts';

/** What is under way for an attempt, besides its stream. */
interface ConcurrentWork {
  /** It stops. */
  halt(): Promise<void>;
  /** It does not count any more. */
  abandon(): void;
}

/** Asks for a turn's response: one attempt each time, and what comes of it when it fails. */
export class TurnRequest {
  readonly #context: RunContext;
  /** Which provider is asked. */
  #providerIndex = 0;
  /** How often it failed in this turn. */
  #failures = 0;
  #turn = 0;
  #providers: readonly Provider[] = [];
  /** What was thought before was refused: it is not sent again in this turn. */
  #filters: readonly ContextFilter[] = [];

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Afterwards the response is finished, or the attempt superseded and the time come for the next one. */
  async attempt(turn: TurnState, beside: ConcurrentWork): Promise<void> {
    const { settings, signal, journal, phase } = this.#context;
    this.#startTurn(turn.turn);
    const provider = settings.providers[this.#providerIndex] ?? settings.providers[0];
    if (provider === undefined) return;
    const at = { turn: turn.turn, attempt: turn.attempt + 1 };
    const { state, loop } = journal;
    const work = buildRequest(settings, state, loop.compacted, this.#filters);
    const request = await raceAbort(work, signal);
    if (request === halted || phase.isAborting) return;
    const kind = 'assistant';
    const { end, itemId } = await runAttempt(this.#context, { provider, request, kind, ...at });
    const { error, usage } = end;
    if (error === undefined) return;
    await beside.halt();
    // What was told before an abort stays, even if the request had failed before that.
    const delayMs = phase.isAborting ? undefined : this.#retryDelay(error);
    if (delayMs === undefined) {
      await journal.write(this.#finalDrafts(at, itemId, end));
      return;
    }
    beside.abandon();
    await journal.write([
      { ...at, fact: { type: 'usage_reported', usage } },
      { ...at, fact: { type: 'attempt_superseded', reason: error.kind } },
      { ...at, fact: { type: 'retry_scheduled', error: error.info, delayMs } },
    ]);
    await wait(settings.clock, delayMs, signal);
  }

  /** The one that is asked now. */
  get provider(): Provider | undefined {
    const { providers } = this.#context.settings;
    return providers[providers === this.#providers ? this.#providerIndex : 0];
  }

  /** A provider that took another's place keeps it, until another agent brings its own. */
  #startTurn(turn: number): void {
    const { providers } = this.#context.settings;
    if (providers !== this.#providers) this.#providerIndex = 0;
    this.#providers = providers;
    if (turn === this.#turn) return;
    this.#turn = turn;
    this.#failures = 0;
    this.#filters = [];
  }

  /** What was said stays, as partial. */
  #finalDrafts(
    at: { readonly turn: number; readonly attempt: number },
    itemId: ItemId,
    { error, stop, usage }: ResponseEnd,
  ): readonly DraftRecord[] {
    if (this.#context.phase.isAborting)
      return [responseFinished(at, itemId, { reason: 'aborted' }, usage)];
    if (error === undefined) return [responseFinished(at, itemId, stop, usage)];
    return [
      { ...at, fact: { type: 'error_reported', error: withRetryHint(error) } },
      responseFinished(at, itemId, { reason: 'error', cause: error.kind }, usage),
    ];
  }

  /** Undefined where it is not tried again. */
  #retryDelay(error: ProviderError): number | undefined {
    const { retry, providers, random } = this.#context.settings;
    const failures = ++this.#failures;
    const isOnce = error.retry === 'once_without_reasoning' && this.#filters.length === 0;
    const patience = retry.attemptsFor?.[error.kind] ?? retry.maxAttempts;
    const tries = { yes: patience, once: 2, no: 1 };
    const most = isOnce ? patience : error.retry in tries ? tries[error.retry as 'no'] : 1;
    const hinted = error.retryAfterMs ?? 0;
    if (failures < Math.min(most, patience) && hinted <= retry.maxDelayMs) {
      if (error.retry === 'once_without_reasoning')
        this.#filters = [dropReasoning({ keepAnswers: 0 })];
      const grown = Math.min(retry.maxDelayMs, retry.baseDelayMs * 2 ** (failures - 1));
      return Math.max(hinted, Math.round(grown * (0.5 + random() / 2)));
    }
    if (this.#providerIndex + 1 >= providers.length || !mayFallBack(error)) return undefined;
    this.#providerIndex++;
    this.#failures = 0;
    return 0;
  }
}

/** Whoever tries again by hand has to know when. */
function withRetryHint({ info, retryAfterMs }: ProviderError): ErrorInfo {
  if (retryAfterMs === undefined) return info;
  const seconds = Math.ceil(retryAfterMs / 1000);
  return { ...info, message: `${info.message} (it asks to wait ${seconds} s)` };
}

/** What another provider would refuse as well is not worth asking it. */
function mayFallBack({ kind }: ProviderError): boolean {
  return kind !== 'aborted' && kind !== 'invalid_request';
}
