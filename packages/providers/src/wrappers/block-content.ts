import { type Delta, noUsage, type PartId, type PartKind, type Usage } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, ResponseEnd, StreamContext, StreamStep } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { messageFor } from '../errors/error-message.ts';
import { closeCutPart } from '../provider/close-parts.ts';
import { wrapProvider } from '../provider/wrap-provider.ts';
import { systemClock } from '../transport/clock.ts';
import { Attempt } from './attempt.ts';
import { badOption, checkCounts, checkNames } from './check-options.ts';

/**
 * The result of a check. It is undefined if the content may pass, and otherwise contains the reason to block
 * it.
 */
export type BlockVerdict = { readonly block: string } | undefined;

/** A piece of an answer, as a check gets it. */
export interface AnswerPiece {
  /**
   * The kind of the part. `text` contains the text of a text or reasoning part, the arguments of a call, or a
   * complete value as JSON.
   */
  readonly kind: PartKind;
  /** The end of the text that was checked before, followed by the new text. */
  readonly text: string;
  /** The position in `text` at which the new text begins. */
  readonly newFrom: number;
}

/** Options of `blockContent`. */
export interface BlockContentOptions {
  /** Checks a request before it is sent. Default: no check. */
  readonly request?: ((request: ModelRequest) => BlockVerdict | Promise<BlockVerdict>) | undefined;
  /** Checks a piece of the answer before the caller gets it. Default: no check. */
  readonly answer?: ((piece: AnswerPiece) => BlockVerdict | Promise<BlockVerdict>) | undefined;
  /** The number of characters of new text that are collected before a check. Default: 256. */
  readonly everyLength?: number | undefined;
  /** The number of characters before the new text that a check also gets. Default: 256. */
  readonly overlapLength?: number | undefined;
  /**
   * The rule for text that has already passed when a later check blocks. `keep` keeps it as a partial part,
   * and `retract` retracts it. Default: `keep`.
   */
  readonly onBlock?: 'keep' | 'retract' | undefined;
}

/**
 * Stops requests and answers that a check blocks. The caller gets only text that was checked. A blocked
 * answer ends with the stop reason `content_filter`, and its cause is the reason that the check returned. The
 * request is aborted, and its usage is counted. If a check throws, the request fails with a `filtered` error.
 *
 * @example
 * const provider = blockContent(anthropic({ model: 'claude-sonnet-4-5' }), {
 *   answer: ({ text }) => (text.includes('launch code') ? { block: 'secret' } : undefined),
 * });
 */
export function blockContent(provider: Provider, options: BlockContentOptions): Provider {
  const known = ['request', 'answer', 'everyLength', 'overlapLength', 'onBlock'];
  checkNames('blockContent', options, known);
  const { everyLength = 256, overlapLength = 256, onBlock = 'keep', ...checks } = options;
  checkCounts('blockContent', { everyLength, overlapLength });
  if (onBlock !== 'keep' && onBlock !== 'retract')
    throw badOption('blockContent', `onBlock is ${String(onBlock)}; use keep or retract`);
  if (checks.request === undefined && checks.answer === undefined)
    throw badOption('blockContent', 'there is no check; pass request or answer');
  const rules = { ...checks, everyLength, overlapLength, onBlock };
  const wrapped = wrapProvider(provider, (request, context) =>
    guarded(provider, rules, request, context),
  );
  return { ...wrapped, ...(provider.describe && { describe: provider.describe }) };
}

type Rules = Pick<BlockContentOptions, 'request' | 'answer'> &
  Required<{ [Name in 'everyLength' | 'overlapLength']: number }> & {
    readonly onBlock: 'keep' | 'retract';
  };

async function* guarded(
  provider: Provider,
  rules: Rules,
  request: ModelRequest,
  context: StreamContext,
): AsyncGenerator<StreamStep> {
  const before = await verdictOf(provider, () => rules.request?.(request));
  if (before !== undefined) return yield { deltas: [], end: blockedEnd(before, noUsage) };
  const attempt = new Attempt(provider, request, context, systemClock);
  const watch = new AnswerWatch(rules);
  try {
    for (;;) {
      const step = await attempt.next();
      watch.hold(step);
      if (!watch.isDue) continue;
      const found = await verdictOf(provider, () => watch.check());
      if (found !== undefined) {
        const { usage } = await attempt.abandon('blocked');
        return yield { deltas: watch.close(), end: blockedEnd(found, usage) };
      }
      yield* watch.release();
      if (step.end !== undefined) return;
    }
  } finally {
    attempt.leave();
  }
}

type Found = { readonly block: string } | { readonly error: ProviderError };

/** Runs a check. If the check throws, no content may pass, so the result is an error. */
async function verdictOf(
  { id }: Provider,
  check: () => BlockVerdict | Promise<BlockVerdict>,
): Promise<Found | undefined> {
  try {
    return await check();
  } catch (cause) {
    const message = messageFor('filtered', id, 'a check of blockContent failed');
    return { error: new ProviderError('filtered', message, { provider: id, cause }) };
  }
}

function blockedEnd(found: Found, usage: Usage): ResponseEnd {
  if ('block' in found)
    return { stop: { reason: 'content_filter', raw: 'blocked', cause: found.block }, usage };
  return { stop: { reason: 'error', cause: 'filtered' }, usage, error: found.error };
}

interface WatchedPart {
  readonly kind: PartKind;
  /** The end of the text that has already passed the check. */
  checked: string;
  fresh: string;
}

/** Holds steps back until their text is checked. It also tracks the parts that the caller has received. */
class AnswerWatch {
  readonly #rules: Rules;
  readonly #parts = new Map<PartId, WatchedPart>();
  #held: StreamStep[] = [];
  #freshLength = 0;
  #isEnding = false;
  /** The parts that the caller has received. For an open part, `length` is the length of its text. */
  readonly #shown = new Map<PartId, { readonly kind: PartKind; length: number; isOpen: boolean }>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** True if a check is due, because enough new text was collected or the answer has ended. */
  get isDue(): boolean {
    return this.#isEnding || this.#freshLength >= this.#rules.everyLength;
  }

  hold(step: StreamStep): void {
    this.#held.push(step);
    this.#isEnding = step.end !== undefined;
    if (this.#rules.answer === undefined) this.#freshLength = Infinity;
    else for (const delta of step.deltas) this.#note(delta);
  }

  /** Checks the new text of each part. Returns the first reason to block, or undefined. */
  async check(): Promise<BlockVerdict> {
    for (const part of this.#parts.values()) {
      if (part.fresh === '') continue;
      const { kind, checked, fresh } = part;
      const text = checked + fresh;
      const verdict = await this.#rules.answer?.({ kind, text, newFrom: checked.length });
      if (verdict !== undefined) return verdict;
      part.checked = text.slice(-this.#rules.overlapLength);
      part.fresh = '';
    }
    return undefined;
  }

  /** Returns the steps that have passed the check. */
  release(): readonly StreamStep[] {
    const passed = this.#held;
    this.#held = [];
    this.#freshLength = 0;
    for (const { deltas } of passed) for (const delta of deltas) this.#show(delta);
    return passed;
  }

  /**
   * Returns the deltas that close or retract the parts that the caller has received. Steps that are held back
   * are dropped.
   */
  close(): readonly Delta[] {
    const isRetracted = this.#rules.onBlock === 'retract';
    return [...this.#shown].flatMap(([partId, { kind, length, isOpen }]): readonly Delta[] => {
      if (isRetracted) return [{ type: 'retract_part', partId, reason: 'withdrawn' }];
      return isOpen ? [closeCutPart(partId, kind, length, 'cut')] : [];
    });
  }

  #note(delta: Delta): void {
    switch (delta.type) {
      case 'begin_part':
        this.#parts.set(delta.partId, { kind: delta.kind, checked: '', fresh: '' });
        return;
      case 'append_text':
        return this.#add(delta.partId, delta.chunk);
      case 'replace_structured':
        return this.#add(delta.partId, JSON.stringify(delta.value));
      case 'commit_part': {
        if (delta.part === undefined) return;
        const { kind } = delta.part;
        // A complete part replaces the streamed text, so its whole text must be checked.
        this.#parts.set(delta.partId, { kind, checked: '', fresh: '' });
        return this.#add(delta.partId, wholeText(delta.part));
      }
      default:
    }
  }

  #add(partId: PartId, text: string): void {
    const part = this.#parts.get(partId);
    if (part === undefined) return;
    part.fresh += text;
    this.#freshLength += text.length;
  }

  #show(delta: Delta): void {
    if (delta.type === 'unknown') return;
    const shown = this.#shown.get(delta.partId);
    switch (delta.type) {
      case 'begin_part':
        this.#shown.set(delta.partId, { kind: delta.kind, length: 0, isOpen: true });
        return;
      case 'append_text':
      case 'append_bytes':
        if (shown !== undefined) shown.length += delta.chunk.length;
        return;
      case 'commit_part': {
        const kind = delta.part?.kind ?? shown?.kind ?? 'text';
        this.#shown.set(delta.partId, { kind, length: 0, isOpen: false });
        return;
      }
      case 'retract_part':
        this.#shown.delete(delta.partId);
        return;
      default:
    }
  }
}

function wholeText(part: NonNullable<(Delta & { type: 'commit_part' })['part']>): string {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
    case 'tool_result':
      return part.text;
    case 'tool_call':
      return part.arguments;
    case 'structured':
    case 'custom':
      return JSON.stringify(part.value);
    case 'media':
    case 'file':
      return '';
  }
}
