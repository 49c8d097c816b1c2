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
import type { Sent } from '../../contract/served-agent.ts';
import { closingDrafts } from '../../journal/turn-closing.ts';
import { AbortWatch, left } from '../abort-race.ts';
import { type TurnDesk, TurnFlow } from './turn-context.ts';

/**
 * Sends a provider's stream on as it comes, a message for each part. A stream that ends as an error or
 * an abort is kept as far as it came, and then that error is thrown: a handler that does not look fails.
 */
export async function sendOn(desk: TurnDesk, steps: AsyncIterable<StreamStep>): Promise<Sent> {
  const { turn, ids } = desk;
  const at = { turn: turn.turn, attempt: turn.attempt };
  const itemId = ids.item();
  const sending: Sending = { desk, itemId, flow: new TurnFlow(turn), parts: [] };
  await sending.flow.add([{ ...at, fact: { type: 'item_started', itemId, kind: 'assistant' } }]);
  let error: { readonly thrown: unknown } | undefined;
  try {
    const end = await pass(sending, steps);
    await sending.flow.add(finished(desk, itemId, end));
    if (end.error !== undefined) error = { thrown: end.error };
  } catch (thrown) {
    await sending.flow.settled();
    await cutOff(sending);
    error = { thrown };
  }
  await sending.flow.settled();
  if (error !== undefined) throw error.thrown;
  return desk.sent(sending.parts);
}

interface Sending {
  readonly desk: TurnDesk;
  readonly itemId: ItemId;
  readonly flow: TurnFlow;
  /** Those that it has messages of, in order. */
  readonly parts: PartId[];
}

async function pass(sending: Sending, steps: AsyncIterable<StreamStep>): Promise<ResponseEnd> {
  const { desk, itemId, flow, parts } = sending;
  const { turn, ids, signal } = desk;
  const at = { turn: turn.turn, attempt: turn.attempt };
  const moved = new MovedDeltas(itemId, at, ids);
  const checked = new CheckedDeltas(itemId, at);
  using watch = new AbortWatch(signal);
  const iterator = steps[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await watch.unlessAborted(iterator.next());
      if (next === left) throw signal.reason;
      if (next.done) throw brokenStream('it ended without an end');
      const drafts = next.value.deltas.flatMap((delta) => checked.draft(moved.move(delta)) ?? []);
      for (const { delta } of drafts) noteParts(parts, delta);
      await flow.add(drafts);
      const { end } = next.value;
      if (end === undefined) continue;
      if (checked.hasOpenParts) throw brokenStream('parts are open at its end');
      return end;
    }
  } finally {
    Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

function noteParts(parts: PartId[], delta: DraftRecord['delta']): void {
  if (delta?.type !== 'begin_part' && delta?.type !== 'commit_part') return;
  if (!parts.includes(delta.partId)) parts.push(delta.partId);
}

/** An attempt's last word on its usage counts, so it is told with that of the streams before it. */
function finished(
  desk: TurnDesk,
  itemId: ItemId,
  { stop, usage, error }: ResponseEnd,
): readonly DraftRecord[] {
  const at = { turn: desk.turn.turn, attempt: desk.turn.attempt };
  const used = desk.addUsage(usage);
  if (error === undefined)
    return [{ ...at, fact: { type: 'response_finished', itemId, stop, usage: used } }];
  return [
    { ...at, fact: { type: 'usage_reported', usage: used } },
    { ...at, fact: { type: 'item_finished', itemId, stop } },
  ];
}

async function cutOff({ desk, itemId, flow }: Sending): Promise<void> {
  const { signal, turn } = desk;
  const stop = { reason: signal.aborted ? 'aborted' : 'error' } as const;
  await flow.add(closingDrafts(await desk.state(), turn.turn, { stop, isCut: true, itemId }));
}

/**
 * Holds what a provider streams against the protocol before it is on the log: one that builds its
 * deltas by hand must not make a session unreadable.
 */
class CheckedDeltas {
  readonly #at: Attempt;
  readonly #folder = new Folder(sessionId('check'));

  constructor(itemId: ItemId, at: Attempt) {
    this.#at = at;
    this.#fold({ ...at, fact: { type: 'item_started', itemId, kind: 'assistant' } });
  }

  get hasOpenParts(): boolean {
    return this.#folder.state.open.length > 0;
  }

  /** What is to be appended. Throws where it does not follow what came before it. */
  draft(delta: Delta): DraftRecord | undefined {
    try {
      const draft = validate(this.#folder.state, { ...this.#at, delta });
      if (draft !== undefined) this.#fold(draft);
      return draft;
    } catch (cause) {
      if (!isMillraceError(cause)) throw cause;
      throw brokenStream(`a delta does not follow those before it (${cause.code})`, cause);
    }
  }

  #fold(draft: DraftRecord): void {
    const offset = this.#folder.state.through + 1;
    const head = { v: recordVersion, offset, time: 0, producer: 'check' } as const;
    this.#folder.add({ ...head, ...draft });
  }
}

function brokenStream(why: string, cause?: unknown): ProviderError {
  const message = `Cannot send the provider's stream on: ${why}. Mend the provider or what changes its steps`;
  return new ProviderError('protocol_error', message, { provider: 'unknown', cause });
}

/**
 * Deltas that were streamed for whichever item, as if for this one. Parts get ids of this session, so
 * that two streams which count theirs alike do not meet.
 */
class MovedDeltas {
  readonly #itemId: ItemId;
  readonly #at: Attempt;
  readonly #ids: Pick<Ids, 'part'>;
  readonly #names = new Map<PartId, PartId>();

  constructor(itemId: ItemId, at: Attempt, ids: Pick<Ids, 'part'>) {
    this.#itemId = itemId;
    this.#at = at;
    this.#ids = ids;
  }

  move(delta: Delta): Delta {
    if (delta.type === 'unknown') return delta;
    const moved = { ...delta, partId: this.#nameOf(delta.partId) };
    return 'itemId' in moved ? { ...moved, itemId: this.#itemId } : moved;
  }

  #nameOf(id: PartId): PartId {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const { turn, attempt } = this.#at;
    const name = this.#ids.part(turn, attempt);
    this.#names.set(id, name);
    return name;
  }
}
