import type { DraftRecord, ItemId } from '@millrace/core';
import type { Provider, ProviderError, ResponseEnd } from '@millrace/providers';
import type { TurnState } from '../loop/loop-state.ts';
import { buildRequest } from './build-request.ts';
import type { RunContext } from './context.ts';
import { finished, tryRequest } from './try-request.ts';
import { wait } from './wait.ts';

/** What is under way for an attempt, besides its stream. */
interface Beside {
  /** What was begun for an attempt that does not count any more stops. */
  halt(): Promise<void>;
}

/** Asks for a turn's response: one attempt each time, and what comes of it when it fails. */
export class TurnRequest {
  readonly #context: RunContext;
  /** Which provider is asked. */
  #index = 0;
  /** How often it failed in this turn. */
  #failures = 0;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Afterwards the response is finished, or the attempt superseded and the time come for the next one. */
  async attempt(turn: TurnState, beside: Beside): Promise<void> {
    const { settings, signal, journal } = this.#context;
    const provider = settings.providers[this.#index] ?? settings.providers[0];
    if (provider === undefined) return;
    const at = { turn: turn.turn, attempt: turn.attempt + 1 };
    const request = await buildRequest(settings, journal.state, journal.loop.compacted);
    const kind = 'assistant';
    const { end, itemId } = await tryRequest(this.#context, { provider, request, kind, ...at });
    const { error, usage } = end;
    if (error === undefined) return;
    const delayMs = signal.aborted ? undefined : this.#delayAfter(error);
    if (delayMs === undefined) {
      await beside.halt();
      await journal.write(this.#ended(at, itemId, end));
      return;
    }
    await beside.halt();
    await journal.write([
      { ...at, fact: { type: 'usage_reported', usage } },
      { ...at, fact: { type: 'attempt_superseded', reason: error.kind } },
      { ...at, fact: { type: 'retry_scheduled', error: error.info, delayMs } },
    ]);
    await wait(settings.clock, delayMs, signal);
  }

  /** What was said stays, as partial. */
  #ended(
    at: { readonly turn: number; readonly attempt: number },
    itemId: ItemId,
    { error, stop, usage }: ResponseEnd,
  ): readonly DraftRecord[] {
    if (this.#context.signal.aborted) return [finished(at, itemId, { reason: 'aborted' }, usage)];
    if (error === undefined) return [finished(at, itemId, stop, usage)];
    return [
      { ...at, fact: { type: 'error_reported', error: error.info } },
      finished(at, itemId, { reason: 'error', cause: error.kind }, usage),
    ];
  }

  /** Undefined where it is not tried again. */
  #delayAfter(error: ProviderError): number | undefined {
    const { retry, providers, random } = this.#context.settings;
    const failures = ++this.#failures;
    const most = error.retry === 'yes' ? retry.maxAttempts : error.retry === 'once' ? 2 : 1;
    const hinted = error.retryAfterMs ?? 0;
    if (failures < most && hinted <= retry.maxDelayMs) {
      const grown = Math.min(retry.maxDelayMs, retry.baseDelayMs * 2 ** (failures - 1));
      return Math.max(hinted, Math.round(grown * (0.5 + random() / 2)));
    }
    if (this.#index + 1 >= providers.length || !mayFallBack(error)) return undefined;
    this.#index++;
    this.#failures = 0;
    return 0;
  }

  /** A provider that answered is asked first in the next turn too. */
  get provider(): Provider | undefined {
    return this.#context.settings.providers[this.#index];
  }
}

/** What another provider would refuse as well is not worth asking it. */
function mayFallBack({ kind }: ProviderError): boolean {
  return kind !== 'aborted' && kind !== 'invalid_request';
}
