import {
  type CommitWhole,
  type Delta,
  type Part,
  type PartEnd,
  type PartId,
  type PartKind,
  parseJson,
} from '@millrace/core';
import type { StreamStep } from '../contract/provider.ts';

/**
 * Changes the text parts of a stream. `change` converts each chunk, and positions and lengths are
 * adjusted. Use it in a wrapper that hides, replaces or translates text while it streams.
 *
 * A structured part that streamed as text is changed as JSON. It becomes a text part if it is no longer
 * valid JSON. Calls and other values stay the same. Reasoning is changed only if `kinds` contains it.
 *
 * Changed reasoning loses its signature and its provider state, because a provider would reject them.
 * Text loses them only if the change reports `hasChanged`.
 *
 * A function of chunks gets one chunk at a time, and a chunk can end at any position. To find text that spans
 * two chunks, pass a function that creates a `PartTextChange` with state for each part.
 *
 * @example
 * mapText(steps, (chunk) => chunk.toUpperCase());
 *
 * @example
 * // Hides a word, even if it is split: the last word of a chunk can continue in the next chunk.
 * mapText(steps, () => {
 *   let word = '';
 *   const hide = (text: string) => text.replaceAll('secret', '******');
 *   return {
 *     chunk(text) {
 *       const all = word + text;
 *       word = all.match(/\w*$/)?.[0] ?? '';
 *       return hide(all.slice(0, all.length - word.length));
 *     },
 *     end: () => hide(word),
 *   };
 * });
 */
export async function* mapText(
  steps: AsyncIterable<StreamStep>,
  change: TextChange,
  kinds: readonly ('text' | 'reasoning')[] = ['text'],
): AsyncGenerator<StreamStep> {
  const texts = new OpenTextParts(change, kinds);
  for await (const step of steps) {
    yield { ...step, deltas: step.deltas.flatMap((delta) => texts.map(delta)) };
  }
}

/** Tracks the open text parts and their new lengths. */
class OpenTextParts {
  readonly #change: TextChange;
  readonly #kinds: readonly string[];
  readonly #open = new Map<PartId, OpenText>();

  constructor(change: TextChange, kinds: readonly string[]) {
    this.#change = change;
    this.#kinds = kinds;
  }

  map(delta: Delta): readonly Delta[] {
    switch (delta.type) {
      case 'begin_part':
        if (this.#kinds.includes(delta.kind)) {
          const { kind } = delta;
          this.#open.set(delta.partId, { kind, text: new ChangedText(this.#change), length: 0 });
        }
        return [delta];
      case 'append_text':
        return this.#append(delta.partId, (text) => text.chunk(delta.chunk)) ?? [delta];
      case 'commit_part':
        return this.#commit(delta);
      case 'retract_part':
        this.#open.delete(delta.partId);
        return [delta];
      default:
        return [delta];
    }
  }

  /**
   * Returns the append to emit in place of the original one. Returns undefined if the part is not an open
   * text part.
   */
  #append(partId: PartId, change: (text: ChangedText) => string): readonly Delta[] | undefined {
    const open = this.#open.get(partId);
    if (open === undefined) return undefined;
    const at = open.length;
    const chunk = change(open.text);
    open.length += chunk.length;
    return chunk === '' ? [] : [{ type: 'append_text', partId, at, chunk }];
  }

  #commit(delta: Delta & { readonly type: 'commit_part' }): readonly Delta[] {
    const { partId } = delta;
    const open = this.#open.get(partId);
    const last = delta.part === undefined ? this.#append(partId, (text) => text.end()) : [];
    this.#open.delete(partId);
    if (delta.part !== undefined) return [this.#whole(delta, open !== undefined)];
    if (open === undefined) return [delta];
    const end = withoutState(delta, open.kind, open.text.hasChanged);
    return [...(last ?? []), { ...end, length: open.length }];
  }

  #whole(delta: CommitWhole, wasText: boolean): Delta {
    const { part } = delta;
    if ((part.kind === 'text' || part.kind === 'reasoning') && this.#kinds.includes(part.kind)) {
      const { text, hasChanged } = changeWholeText(part.text, this.#change);
      return { ...delta, part: { ...withoutState(part, part.kind, hasChanged), text } };
    }
    if (part.kind !== 'structured' || !wasText) return delta;
    return { ...delta, part: changeStructuredPart(part, this.#change) };
  }
}

interface OpenText {
  readonly kind: PartKind;
  readonly text: ChangedText;
  length: number;
}

/**
 * Removes the signature and the state if the text has changed, because they belong to the original
 * text.
 */
function withoutState<T extends PartEnd>(
  end: T,
  kind: PartKind,
  hasChanged: boolean | undefined,
): T {
  const isStale = hasChanged ?? kind === 'reasoning';
  if (!isStale) return end;
  const { signature: _signed, providerState: _own, ...rest } = end;
  return rest as T;
}

function changeStructuredPart(
  part: Part & { readonly kind: 'structured' },
  change: TextChange,
): Part {
  const { text, hasChanged } = changeWholeText(JSON.stringify(part.value), change);
  const kept = withoutState(part, part.kind, hasChanged);
  const parsed = parseJson(text);
  if (parsed.ok) return { ...kept, value: parsed.value };
  const { kind: _kind, value: _value, name: _name, ...rest } = kept;
  return { ...rest, kind: 'text', text };
}

/** Changes the text of one part while it streams. It can hold text back and return that text later. */
export interface PartTextChange {
  /** Returns the text to emit for this chunk. */
  chunk(text: string): string;
  /** Returns the remaining text. Called when the part ends, whether it is complete or cut off. */
  end?(): string;
  /**
   * True if the text until now differs from the original. Default: unknown. In this case, reasoning is
   * treated as changed and text as unchanged.
   */
  readonly hasChanged?: boolean;
}

/**
 * Describes how `mapText` changes text: a function that maps each chunk, or a function that creates a
 * `PartTextChange` for each part. A function of chunks cannot recognize a word that is split into two chunks.
 */
export type TextChange = ((chunk: string) => string) | ((firstChunk: string) => PartTextChange);

/** Applies a change to one part. The output never contains an incomplete surrogate pair. */
class ChangedText {
  readonly #change: TextChange;
  #part: PartTextChange | undefined;
  /** A high surrogate whose low surrogate may still arrive. */
  #held = '';

  constructor(change: TextChange) {
    this.#change = change;
  }

  chunk(text: string): string {
    if (this.#part !== undefined) return this.#paired(this.#part.chunk(text));
    const changed = this.#change(text);
    if (typeof changed === 'string') return this.#paired(changed);
    this.#part = changed;
    return this.#paired(changed.chunk(text));
  }

  /** True if the text differs from the original. Undefined if the `PartTextChange` does not report this. */
  get hasChanged(): boolean | undefined {
    return this.#part?.hasChanged;
  }

  end(): string {
    const text = this.#held + (this.#part?.end?.() ?? '');
    this.#held = '';
    return text.toWellFormed();
  }

  #paired(chunk: string): string {
    const text = this.#held + chunk;
    const cut = endsInHighSurrogate(text) ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    return text.slice(0, cut).toWellFormed();
  }
}

function endsInHighSurrogate(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

function changeWholeText(text: string, change: TextChange) {
  const changed = new ChangedText(change);
  const whole = changed.chunk(text) + changed.end();
  return { text: whole, hasChanged: changed.hasChanged };
}
