import { decodeTranscript } from '../codec/codec.ts';
import { Folder } from '../fold/fold.ts';
import { emptyState, type FoldState, type ItemState, type PartSlot } from '../fold/fold-state.ts';
import { toArray } from '../fold/sequence.ts';
import { partId, type SessionId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json/json-value.ts';
import { type Item, transcriptVersion } from '../protocol/item.ts';
import type { Batch, LogRecord } from '../protocol/record.ts';
import { joinParkedRuns, type ParkedState } from './parked-runs.ts';
import { wholeChunks } from './part-chunks.ts';
import { messageId, restateMessage } from './record-chunks.ts';
import { isStepItem } from './step-chunks.ts';
import { partsOfChunks, type UiApproval, type UiMessage, type UiPart } from './ui-message.ts';

/**
 * Converts the records of a session to the messages of the AI SDK's `useChat`. Each run is one message. A
 * parked run and the runs that continue it are together one message.
 */
export class UiMessages {
  readonly #folder: Folder;
  #parked: ParkedState = { run: undefined, isParked: false };
  /** The reasons of all questions about calls of this session. */
  readonly #questions = new Map<string, string | undefined>();
  readonly #answers = new Map<string, UiApproval>();
  /** The queued messages that no run has taken yet, by the key of their command. */
  readonly #queued = new Map<string, JsonValue>();

  constructor(session: SessionId) {
    this.#folder = new Folder(emptyState(session));
  }

  /** The offset of the last record that was added. */
  get through(): number {
    return this.#folder.state.through;
  }

  /** Adds the next records. Returns false if records before them are missing. */
  add(batch: Batch): boolean {
    const { joined, after } = joinParkedRuns(batch.records, this.#parked);
    const records = joined.flatMap((one) => (one.isParkBoundary ? [] : one.record));
    if (this.#folder.addBatch({ ...batch, records }).outcome === 'gap') return false;
    for (const record of batch.records) this.#learn(record);
    this.#parked = after;
    return true;
  }

  /** Stores queued messages and the answers to questions, because the folded state does not contain them. */
  #learn({ fact }: LogRecord): void {
    if (fact?.type === 'command_queued') this.#learnCommand(fact.key, fact.command);
    if (fact?.type === 'command_consumed') this.#queued.delete(fact.key);
    if (fact?.type === 'approval_asked' && fact.from === undefined) {
      this.#questions.set(fact.toolCallId, fact.reason);
      this.#answers.delete(fact.toolCallId);
    }
    if (fact?.type !== 'approval_answered' || !this.#questions.has(fact.toolCallId)) return;
    const { toolCallId: id, decision, reason } = fact;
    const requestReason = this.#questions.get(id);
    this.#answers.set(id, {
      ...{ id, approved: decision === 'allow' },
      ...(requestReason === undefined ? {} : { requestReason }),
      ...(reason === undefined ? {} : { reason }),
    });
  }

  #learnCommand(key: string, { type, items, key: withdrawn }: JsonObject): void {
    if (type === 'message' && items !== undefined) this.#queued.set(key, items);
    if (type === 'withdraw' && typeof withdrawn === 'string') this.#queued.delete(withdrawn);
  }

  /**
   * All messages. A message that the user sent during an answer is a part of that answer. Messages that
   * are still queued come last.
   */
  list(): UiMessage[] {
    const stored = this.#stored();
    const ids = new Set(stored.map(({ id }) => id));
    const queued = [...this.#queued.values()].flatMap((json) => this.#queuedMessages(json));
    // The filter removes queued messages whose id the session already uses. Such a message gets a new id when
    // a run takes it.
    return [...stored, ...queued.filter(({ id }) => !ids.has(id))];
  }

  #queuedMessages(items: JsonValue): readonly UiMessage[] {
    return decodeQueued(items).flatMap(({ id, kind, parts, metadata }) => {
      const slots = parts.map((part, at) => ({ id: partId(0, 0, `queued${at}`), part }));
      const shown = kind === 'user' ? userParts(this.#folder.state, slots) : [];
      return shown.length === 0 ? [] : [userMessage(id, shown, metadata)];
    });
  }

  #stored(): UiMessage[] {
    const { state } = this.#folder;
    const begun = new Set<ItemState['run']>();
    const messages: UiMessage[] = [];
    const places = new Map<JsonValue | undefined, number>();
    for (const item of toArray(state.items)) {
      const { run } = item;
      if (run !== undefined && begun.has(run)) continue;
      if (isStepItem(item) && run !== undefined) {
        begun.add(run);
        messages.push(this.#answerOf(stateOfRun(state, run)));
        continue;
      }
      const parts = item.kind === 'user' ? userParts(state, item.parts) : [];
      if (parts.length === 0) continue;
      // The user asked for a new answer to this message, so the message was sent again. The client shows only
      // the last answer.
      const replaced = item.metadata?.[regeneratedKey];
      const place = places.get(replaced);
      // An earlier replacement can have removed the message at this place.
      if (place !== undefined && messages[place]?.id === replaced) messages.length = place;
      places.set(item.id, messages.length);
      messages.push(userMessage(item.id, parts, item.metadata));
    }
    return messages;
  }

  #answerOf(state: FoldState): UiMessage {
    const parts = partsOfChunks(restateMessage(state), this.#answers);
    return { id: messageId(state), role: 'assistant', parts };
  }
}

/**
 * The name of a metadata field of a user's item that was sent again for a new answer. Its value is the id of
 * the item that it replaces in the messages of the AI SDK.
 */
export const regeneratedKey = 'regenerates';

/** The name of a metadata field of a user's item. Its value is the metadata of the message in `useChat`. */
export const uiMetadataKey = 'ui';

function userMessage(id: string, parts: UiPart[], stored: Item['metadata']): UiMessage {
  const metadata = stored?.[uiMetadataKey];
  return { id, role: 'user', ...(metadata !== undefined && { metadata }), parts };
}

/** Returns the items of a queued message. Returns no items if this version cannot read them. */
function decodeQueued(items: JsonValue): readonly Item[] {
  try {
    return decodeTranscript(JSON.stringify({ v: transcriptVersion, items }));
  } catch {
    return [];
  }
}

/**
 * Returns the state as if the run were still open, because questions of sub-agents and retries belong to an
 * open run.
 */
function stateOfRun(state: FoldState, run: NonNullable<FoldState['run']>): FoldState {
  if (run === state.run) return state;
  const asked = state.asked.filter(({ from }) => from === undefined);
  return { ...state, run, asked, superseded: [] };
}

/** Returns the texts and files of a user's message. */
function userParts(state: FoldState, slots: readonly Pick<PartSlot, 'id' | 'part'>[]): UiPart[] {
  return slots.flatMap(({ id, part }): readonly UiPart[] => {
    if (part?.kind === 'text') return [{ type: 'text', text: part.text }];
    if (part?.kind !== 'media' && part?.kind !== 'file') return [];
    const named = part.kind === 'file' ? { filename: part.name } : {};
    return partsOfChunks(wholeChunks(state, id, part)).map((one) =>
      one.type === 'file' ? { ...one, ...named } : one,
    );
  });
}
