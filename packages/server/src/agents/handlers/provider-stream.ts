import {
  type Attempt,
  type Delta,
  type DraftRecord,
  Folder,
  type Ids,
  type ItemId,
  isMillraceError,
  type PartId,
  recordVersion,
  sessionId,
  validate,
} from '@millrace/core';
import { ProviderError, type ResponseEnd, type StreamStep } from '@millrace/providers';
import type { SentMessages } from '../../contract/served-agent.ts';
import { closingDrafts } from '../../journal/turn-closing.ts';
import { AbortRace, abandoned } from '../abort-race.ts';
import { type TurnContext, TurnWriter } from './turn-context.ts';

/**
 * Writes a provider's stream to the log as it arrives. Each part becomes a message. If the stream fails or is
 * aborted, the function stores the partial content and throws the error. The handler then fails, unless it
 * catches the error.
 */
export async function forwardStream(
  context: TurnContext,
  steps: AsyncIterable<StreamStep>,
): Promise<SentMessages> {
  const { turn, ids } = context;
  const at = { turn: turn.turn, attempt: turn.attempt };
  const itemId = ids.item();
  const forwarding: Forwarding = { context, itemId, writer: new TurnWriter(turn), parts: [] };
  await forwarding.writer.add([
    { ...at, fact: { type: 'item_started', itemId, kind: 'assistant' } },
  ]);
  let error: { readonly thrown: unknown } | undefined;
  try {
    const end = await forwardSteps(forwarding, steps);
    await forwarding.writer.add(finishDrafts(context, itemId, end));
    if (end.error !== undefined) error = { thrown: end.error };
  } catch (thrown) {
    await forwarding.writer.flush();
    await closeInterrupted(forwarding);
    error = { thrown };
  }
  await forwarding.writer.flush();
  if (error !== undefined) throw error.thrown;
  return context.sentMessages(forwarding.parts);
}

interface Forwarding {
  readonly context: TurnContext;
  readonly itemId: ItemId;
  readonly writer: TurnWriter;
  /** The ids of the parts that became messages, in order. */
  readonly parts: PartId[];
}

async function forwardSteps(
  forwarding: Forwarding,
  steps: AsyncIterable<StreamStep>,
): Promise<ResponseEnd> {
  const { context, itemId, writer, parts } = forwarding;
  const { turn, ids, signal } = context;
  const at = { turn: turn.turn, attempt: turn.attempt };
  const relocator = new DeltaRelocator(itemId, at, ids);
  const checker = new DeltaChecker(itemId, at);
  using watch = new AbortRace(signal);
  const iterator = steps[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await watch.raceAbort(iterator.next());
      if (next === abandoned) throw signal.reason;
      if (next.done) throw invalidStream('it ended without a final step');
      const drafts = next.value.deltas.flatMap(
        (delta) => checker.draft(relocator.relocate(delta)) ?? [],
      );
      for (const { delta } of drafts) trackPart(parts, delta);
      await writer.add(drafts);
      const { end } = next.value;
      if (end === undefined) continue;
      if (checker.hasOpenParts) throw invalidStream('parts are still open at its end');
      return end;
    }
  } finally {
    Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

function trackPart(parts: PartId[], delta: DraftRecord['delta']): void {
  if (delta?.type !== 'begin_part' && delta?.type !== 'commit_part') return;
  if (!parts.includes(delta.partId)) parts.push(delta.partId);
}

/**
 * Returns the drafts that finish the item. Only the last usage report of an attempt counts. The report in
 * these drafts is therefore the sum over all streams of the turn so far.
 */
function finishDrafts(
  context: TurnContext,
  itemId: ItemId,
  { stop, usage, error, details }: ResponseEnd,
): readonly DraftRecord[] {
  const at = { turn: context.turn.turn, attempt: context.turn.attempt };
  const used = context.addUsage(usage);
  if (error === undefined)
    return [
      {
        ...at,
        fact: {
          type: 'response_finished',
          itemId,
          stop,
          usage: used,
          ...(details && { details }),
        },
      },
    ];
  return [
    { ...at, fact: { type: 'usage_reported', usage: used } },
    { ...at, fact: { type: 'item_finished', itemId, stop } },
  ];
}

async function closeInterrupted({ context, itemId, writer }: Forwarding): Promise<void> {
  const { signal, turn } = context;
  const stop = { reason: signal.aborted ? 'aborted' : 'error' } as const;
  await writer.add(
    closingDrafts(await context.state(), turn.turn, { stop, isInterrupted: true, itemId }),
  );
}

/**
 * Validates a provider's deltas before they are written to the log. A provider may build its deltas by hand,
 * and invalid deltas would make the session unreadable.
 */
class DeltaChecker {
  readonly #at: Attempt;
  readonly #folder = new Folder(sessionId('check'));

  constructor(itemId: ItemId, at: Attempt) {
    this.#at = at;
    this.#fold({ ...at, fact: { type: 'item_started', itemId, kind: 'assistant' } });
  }

  get hasOpenParts(): boolean {
    return this.#folder.state.open.length > 0;
  }

  /**
   * Returns the record to append for this delta. Throws if the delta does not continue the previous deltas.
   */
  draft(delta: Delta): DraftRecord | undefined {
    try {
      const draft = validate(this.#folder.state, { ...this.#at, delta });
      if (draft !== undefined) this.#fold(draft);
      return draft;
    } catch (cause) {
      if (!isMillraceError(cause)) throw cause;
      throw invalidStream(`a delta does not follow the previous ones (${cause.code})`, cause);
    }
  }

  #fold(draft: DraftRecord): void {
    const offset = this.#folder.state.through + 1;
    const head = { v: recordVersion, offset, time: 0, producer: 'check' } as const;
    this.#folder.add({ ...head, ...draft });
  }
}

function invalidStream(why: string, cause?: unknown): ProviderError {
  const message = `Cannot forward the provider's stream: ${why}. Fix the provider or the code that changes its steps`;
  return new ProviderError('protocol_error', message, { provider: 'unknown', cause });
}

/**
 * Replaces the item id and the part ids in a provider's deltas by ids of this session. Two streams with the
 * same part ids therefore do not conflict.
 */
class DeltaRelocator {
  readonly #itemId: ItemId;
  readonly #at: Attempt;
  readonly #ids: Pick<Ids, 'part'>;
  readonly #movedIds = new Map<PartId, PartId>();

  constructor(itemId: ItemId, at: Attempt, ids: Pick<Ids, 'part'>) {
    this.#itemId = itemId;
    this.#at = at;
    this.#ids = ids;
  }

  relocate(delta: Delta): Delta {
    if (delta.type === 'unknown') return delta;
    const relocator = { ...delta, partId: this.#newId(delta.partId) };
    return 'itemId' in relocator ? { ...relocator, itemId: this.#itemId } : relocator;
  }

  #newId(id: PartId): PartId {
    const known = this.#movedIds.get(id);
    if (known !== undefined) return known;
    const { turn, attempt } = this.#at;
    const name = this.#ids.part(turn, attempt);
    this.#movedIds.set(id, name);
    return name;
  }
}
