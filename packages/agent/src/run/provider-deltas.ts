import {
  type Attempt,
  attemptOf,
  type Delta,
  type FoldState,
  type Ids,
  type ItemId,
  mediumOf,
  type PartId,
  type PartKind,
  type ToolCallId,
  toArray,
} from '@millrace/core';
import type { CallIds } from '../contract/run-context.ts';
import { mayBeUsedBefore } from '../state/drafts.ts';

interface TrackedPart {
  readonly kind: PartKind;
  /** True after the value of the part was set. Only parts with a single value use this field. */
  hasValue: boolean;
  length: number;
  isOpen: boolean;
}

/**
 * Validates a provider's deltas before they are written. Adapters normally use a `DeltaWriter`, which applies
 * the same rules. Without this validation, an adapter that builds its own deltas could make the session
 * unreadable.
 */
export class DeltaValidator {
  readonly #itemId: ItemId;
  readonly #at: Attempt;
  readonly #parts = new Map<PartId, TrackedPart>();
  #calls = 0;

  constructor(itemId: ItemId, at: Attempt) {
    this.#itemId = itemId;
    this.#at = at;
  }

  /** True if no part is open. */
  get isClosed(): boolean {
    return [...this.#parts.values()].every(({ isOpen }) => !isOpen);
  }

  /** True if the answer has more calls than an answer may have. */
  get hasTooManyCalls(): boolean {
    return this.#calls > maxCalls;
  }

  /** Returns true if the delta is valid after the deltas that were accepted before. */
  accepts(delta: Delta): boolean {
    if (delta.type === 'unknown') return true;
    const part = this.#parts.get(delta.partId);
    switch (delta.type) {
      case 'append_text':
      case 'append_bytes':
        if (part === undefined || !part.isOpen || delta.at !== part.length) return false;
        part.length += delta.chunk.length;
        return mediumOf[part.kind] === (delta.type === 'append_text' ? 'text' : 'bytes');
      case 'begin_part':
        if (part !== undefined || !this.#isOwn(delta) || !(delta.kind in mediumOf)) return false;
        this.#track(delta.partId, delta.kind, true);
        return true;
      case 'commit_part':
        return this.#acceptsCommit(delta, part);
      case 'retract_part':
        if (part === undefined) return false;
        part.isOpen = false;
        return true;
      case 'replace_structured':
        if (part === undefined || mediumOf[part.kind] !== 'value') return false;
        part.hasValue = true;
        return part.isOpen;
      case 'set_metadata':
        return part?.isOpen ?? false;
    }
  }

  #acceptsCommit(
    delta: Delta & { readonly type: 'commit_part' },
    part: TrackedPart | undefined,
  ): boolean {
    if (delta.part !== undefined && part === undefined) {
      this.#track(delta.partId, delta.part.kind, false);
      return this.#isOwn(delta);
    }
    if (part === undefined || !part.isOpen) return false;
    part.isOpen = false;
    if (delta.part !== undefined) return true;
    if (mediumOf[part.kind] === 'value' && !part.hasValue) return false;
    if (delta.signature !== undefined && part.kind !== 'reasoning') return false;
    return delta.length === part.length;
  }

  #track(id: PartId, kind: PartKind, isOpen: boolean): void {
    this.#parts.set(id, { kind, hasValue: false, length: 0, isOpen });
    if (kind === 'tool_call') this.#calls++;
  }

  #isOwn({ partId, itemId }: { readonly partId: PartId; readonly itemId: ItemId }): boolean {
    const { turn, attempt } = attemptOf(partId);
    return itemId === this.#itemId && turn === this.#at.turn && attempt === this.#at.attempt;
  }
}

/**
 * Maximum number of calls in one answer. Each record of a call copies the states of all calls of the turn, so the work
 * grows with the square of this number.
 */
export const maxCalls = 1500;

/**
 * Maximum length of a tool call id. The log accepts ids of up to 1,024 characters, and the id of a
 * sub-agent's question contains a session id and a call id. Some gateways put several hundred characters of
 * data into ids.
 */
const maxCallIdLength = 900;

/**
 * Replaces tool call ids that a model has already used, because results and approvals refer to a call by its
 * id. It also replaces ids that are too long to become part of a longer id.
 */
export class UniqueCallIds implements CallIds {
  readonly #ids: Pick<Ids, 'toolCall'>;
  readonly #state: FoldState;
  /** The ids of earlier calls. They are collected when the first call of the run begins. */
  #used: Set<ToolCallId> | undefined;
  /** For each part, the id of its tool call in this run. */
  readonly #names = new Map<PartId, ToolCallId>();

  constructor(ids: Pick<Ids, 'toolCall'>, state: FoldState) {
    this.#ids = ids;
    this.#state = state;
  }

  withUniqueId(delta: Delta): Delta {
    if (delta.type === 'begin_part' && delta.kind === 'tool_call') {
      const toolCallId = this.#idFor(delta.partId, delta.toolCallId);
      return toolCallId === delta.toolCallId ? delta : { ...delta, toolCallId };
    }
    if (delta.type !== 'commit_part' || delta.part === undefined) return delta;
    const { part } = delta;
    if (part.kind !== 'tool_call') return delta;
    const toolCallId = this.#idFor(delta.partId, part.toolCallId);
    return toolCallId === part.toolCallId ? delta : { ...delta, part: { ...part, toolCallId } };
  }

  #idFor(part: PartId, id: ToolCallId): ToolCallId {
    this.#used ??= callIdsIn(this.#state);
    const isUsed = this.#used.has(id) || mayBeUsedBefore(id, this.#state);
    const isUsable = !isUsed && id.length <= maxCallIdLength;
    const name = this.#names.get(part) ?? (isUsable ? id : this.#ids.toolCall());
    this.#names.set(part, name);
    this.#used.add(name);
    return name;
  }
}

function callIdsIn({ items }: FoldState): Set<ToolCallId> {
  const ids = new Set<ToolCallId>();
  for (const { parts } of toArray(items))
    for (const { part } of parts) if (part?.kind === 'tool_call') ids.add(part.toolCallId);
  return ids;
}
