import {
  type Attempt,
  type ContentLimits,
  DeltaWriter,
  type DraftRecord,
  type Fact,
  type Ids,
  type ItemId,
  type ItemKind,
  isMillraceError,
  type JsonObject,
  type Part,
  parseJson,
  type Stop,
  type TextWriter,
  type ToolCallId,
  toolCallId,
} from '@millrace/core';
import type { Content } from '../contract/content.ts';
import type { Update, UpdateDelta } from '../contract/message.ts';
import { contentMetadata, contentToParts, isEmptyContent } from './content-parts.ts';
import {
  beginPart,
  deltaText,
  isReasoning,
  type PartTarget,
  targetKey,
  targetOfContent,
  targetOfDelta,
} from './update-target.ts';
import type { UpdateWarning } from './update-warnings.ts';

interface IndexWriterOptions extends Attempt {
  /** The index that clients receive for the first message of this item. */
  readonly index: number;
  readonly ids: Pick<Ids, 'item' | 'part' | 'toolCall'>;
  readonly limits?: Partial<ContentLimits> | undefined;
  /** Returns an unused index for one more message of this item. */
  readonly nextIndex: () => number;
  /** Called before a part begins. Throws if the answer has too many parts. */
  readonly countPart: () => void;
  /** Returns false if clients have already received too much text of the answer again. */
  readonly maySendAgain: (characters: number) => boolean;
  readonly warn: (warning: UpdateWarning) => void;
}

interface OpenTarget {
  readonly target: PartTarget;
  readonly writer: TextWriter;
  /**
   * The index of the part's message. Undefined for later entries of a reasoning block, because they belong to
   * the message of the first entry.
   */
  readonly index: number | undefined;
  metadata: JsonObject;
  /** The content of a `start` update. If no delta follows, it becomes the content of the message. */
  preview: Content | undefined;
  isWritten: boolean;
  /** Fragments of JSON data. They are joined and parsed at the end. */
  readonly pieces: string[];
}

/**
 * Writes the updates of one index of an agent's answer. All updates of the index become one item, with one
 * part per target (`PartTarget`).
 */
export class IndexWriter {
  readonly #options: IndexWriterOptions;
  readonly #itemId: ItemId;
  readonly #writer: DeltaWriter;
  readonly #open = new Map<string, OpenTarget>();
  #freeIndexes: number[];
  #drafts: DraftRecord[] = [];
  #isClosed = false;

  constructor(options: IndexWriterOptions, opening: Exclude<Update, { type: 'done' }>) {
    const { turn, attempt, ids, limits = {}, index } = options;
    this.#options = options;
    this.#itemId = ids.item();
    this.#writer = new DeltaWriter({ itemId: this.#itemId, turn, attempt, ids, limits });
    this.#freeIndexes = [index];
    const preview = opening.type === 'start' && !isEmptyContent(opening.content);
    // The preview is also stored on the log, so that it survives a crash.
    const metadata = { index, ...(preview && { start: opening.content as JsonObject }) };
    const kind = kindOf(opening);
    this.#fact({ type: 'item_started', itemId: this.#itemId, kind, metadata });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The number of open parts. */
  get openParts(): number {
    return this.#open.size;
  }

  /** Returns the drafts that were created since the last call. */
  take(): readonly DraftRecord[] {
    this.#flush();
    const taken = this.#drafts;
    this.#drafts = [];
    return taken;
  }

  start(content: Content): void {
    const target = targetOfContent(content, this.#idOf('call'));
    const known = this.#open.get(targetKey(target));
    const open = known ?? this.#begin(target, contentMetadata(content));
    if (known !== undefined || this.#open.size > 1) this.#options.warn('restarted');
    // The first entry of a reasoning block stores the metadata of the block.
    const [first = open] = isReasoning(target) ? this.#reasoning() : [];
    const metadata = { ...first.metadata, ...contentMetadata(content) };
    // Clients receive the whole text again, with its new format.
    const isChanged = !isSame(metadata, first.metadata);
    if (isChanged && this.#options.maySendAgain(first.writer.length))
      this.#setMetadata(first, metadata);
    if (!open.isWritten) open.preview = content;
  }

  delta(delta: UpdateDelta): void {
    const target = targetOfDelta(
      delta,
      this.#idOf(delta.type === 'tool_response' ? 'result' : 'call'),
    );
    this.#dropMismatched(target);
    const open = this.#open.get(targetKey(target)) ?? this.#begin(target, {});
    const piece = deltaText(delta);
    open.writer.append(piece);
    if (target.kind === 'data') open.pieces.push(piece);
    for (const each of isReasoning(target) ? this.#reasoning() : [open]) each.isWritten = true;
  }

  /** Replaces the content that was written so far. */
  full(given: Content): void {
    const content = this.#withCallId(given);
    const key = targetKey(targetOfContent(content, toolCallId));
    const replaced = this.#open.get(key) ?? this.#open.values().next().value;
    const index = replaced?.index ?? this.#options.index;
    const parts = contentToParts(content, { index });
    // Parts are retracted in reverse order, because the first entry of a reasoning block provides the message
    // id.
    for (const open of [...this.#open.values()].reverse()) {
      if (open !== replaced) open.writer.retract('withdrawn');
    }
    this.#commitWhole(replaced, parts);
    this.#finish();
  }

  /**
   * Closes the index. Without `stop`, all content is complete. With `stop`, tool calls are retracted and all
   * other content is marked as partial.
   */
  close(stop?: Stop): void {
    for (const open of [...this.#open.values()]) {
      if (stop === undefined) this.#closeTarget(open);
      else this.#closePartial(open);
    }
    this.#finish(stop);
  }

  #begin(target: PartTarget, initial: JsonObject): OpenTarget {
    const isEntry = isReasoning(target) && this.#reasoning().length > 0;
    this.#options.countPart();
    const writer = beginPart(this.#writer, target);
    const index = isEntry ? undefined : (this.#freeIndexes.pop() ?? this.#options.nextIndex());
    const state = { metadata: {}, preview: undefined, isWritten: false, pieces: [] };
    const open: OpenTarget = { target, writer, index, ...state };
    this.#open.set(targetKey(target), open);
    if (index !== undefined) this.#setMetadata(open, { index, ...initial });
    return open;
  }

  #setMetadata(open: OpenTarget, metadata: JsonObject): void {
    open.writer.metadata(metadata);
    open.metadata = metadata;
  }

  /**
   * Retracts the open parts without content whose type differs from the type of this target. Tool calls are
   * not retracted.
   */
  #dropMismatched(target: PartTarget): void {
    for (const [key, { target: other, writer, isWritten, index }] of this.#open) {
      const isSame = isReasoning(target) ? isReasoning(other) : key === targetKey(target);
      if (isSame || isWritten || other.kind === 'call') continue;
      this.#options.warn('mismatched');
      writer.retract('withdrawn');
      this.#open.delete(key);
      if (index !== undefined) this.#freeIndexes.push(index);
    }
  }

  /**
   * Closes one part. If a limit prevents the intended commit, it commits the text as partial. A limit
   * therefore never makes closing fail.
   */
  #closeTarget(open: OpenTarget): void {
    try {
      this.#commit(open);
    } catch (error) {
      if (!isMillraceError(error) || !open.writer.isOpen) throw error;
      open.writer.commit({ partial: true });
    }
  }

  #commit(open: OpenTarget): void {
    const { writer, preview, isWritten, pieces, target, metadata } = open;
    if (preview !== undefined && !isWritten) {
      this.#commitWhole(open, contentToParts(this.#withCallId(preview, target), metadata));
    } else if (target.kind === 'data') {
      this.#commitData(open, pieces.join(''));
    } else writer.commit();
  }

  #commitData(open: OpenTarget, text: string): void {
    const { writer, metadata } = open;
    const parsed = parseJson(text === '' ? '{}' : text);
    if (parsed.ok) return writer.replace({ kind: 'structured', value: parsed.value, metadata });
    this.#options.warn('unparsed');
    this.#setMetadata(open, { ...metadata, note: `no JSON: ${parsed.failure.message}` });
    writer.commit({ partial: true });
  }

  #closePartial(open: OpenTarget): void {
    const { writer, preview, isWritten, target } = open;
    if (target.kind === 'call') return writer.retract('aborted');
    const isPreview = preview !== undefined && !isWritten;
    if (isPreview || target.kind === 'data') return this.#closeTarget(open);
    writer.commit({ partial: true });
  }

  #commitWhole(open: OpenTarget | undefined, [first, ...others]: readonly [Part, ...Part[]]): void {
    if (open === undefined) this.#writer.whole(first);
    else open.writer.replace(first);
    if (open !== undefined) this.#open.delete(targetKey(open.target));
    for (const part of others) this.#writer.whole(part);
  }

  #finish(stop?: Stop): void {
    this.#flush();
    this.#open.clear();
    this.#isClosed = true;
    this.#fact({ type: 'item_finished', itemId: this.#itemId, ...(stop && { stop }) });
  }

  #reasoning(): readonly OpenTarget[] {
    return [...this.#open.values()].filter(({ target }) => isReasoning(target));
  }

  /**
   * Returns a function that completes the id of a call. For an empty id, it uses the id of the part of this
   * kind that was opened last and is still open. If no part of this kind is open, it creates a new id.
   */
  #idOf(kind: 'call' | 'result'): (id: string) => ToolCallId {
    return (id) => {
      if (id !== '') return toolCallId(id);
      const last = [...this.#open.values()].findLast(({ target }) => target.kind === kind);
      const target = last?.target;
      return target !== undefined && 'id' in target ? target.id : this.#options.ids.toolCall();
    };
  }

  #withCallId(content: Content, target?: PartTarget): Content {
    if (!('tool_call_id' in content) || content.tool_call_id !== '') return content;
    const kind = content.type === 'tool_request' ? 'call' : 'result';
    const id = target !== undefined && 'id' in target ? target.id : this.#idOf(kind)('');
    return { ...content, tool_call_id: id };
  }

  #flush(): void {
    const { turn, attempt } = this.#options;
    for (const delta of this.#writer.take()) this.#drafts.push({ turn, attempt, delta });
  }

  #fact(fact: Fact): void {
    const { turn, attempt } = this.#options;
    this.#drafts.push({ turn, attempt, fact });
  }
}

function isSame(a: JsonObject, b: JsonObject): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Returns the kind of the item that the first update starts. */
function kindOf(opening: Exclude<Update, { type: 'done' }>): ItemKind {
  if (opening.type === 'delta')
    return opening.delta?.type === 'tool_response' ? 'tool' : 'assistant';
  if (opening.content.author === 'user') return 'user';
  return opening.content.type === 'tool_response' ? 'tool' : 'assistant';
}
