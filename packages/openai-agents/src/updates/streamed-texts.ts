import type { UpdateDelta, UpdateInput } from '@millrace/server';

/** A streamed text: the index of its message, and the text that was already sent. */
interface StreamedText {
  readonly index: number;
  text: string;
  isDone: boolean;
}

/** The streamed texts, by the ids of the SDK's items. Each text has its own message index. */
export class StreamedTexts {
  readonly #streamed = new Map<string, StreamedText>();
  readonly #takeIndex: () => number;

  constructor(takeIndex: () => number) {
    this.#takeIndex = takeIndex;
  }

  has(id: string): boolean {
    return this.#streamed.has(id);
  }

  textOf(id: string): string {
    return this.#streamed.get(id)?.text ?? '';
  }

  append(id: string, { text, delta }: Piece): readonly UpdateInput[] {
    if (text === '') return [];
    const known = this.#streamed.get(id);
    const streamed = known ?? { index: this.#takeIndex(), text: '', isDone: false };
    if (known === undefined) this.#streamed.set(id, streamed);
    streamed.text += text;
    return [{ type: 'delta', index: streamed.index, delta }];
  }

  close(id: string): readonly UpdateInput[] {
    const streamed = this.#streamed.get(id);
    if (streamed === undefined || streamed.isDone) return [];
    streamed.isDone = true;
    return [{ type: 'done', index: streamed.index }];
  }

  /** Closes the text. Later content with this id starts a new text. */
  finish(id: string): readonly UpdateInput[] {
    const closed = this.close(id);
    this.#streamed.delete(id);
    return closed;
  }

  closeAll(): readonly UpdateInput[] {
    return [...this.#streamed.keys()].flatMap((id) => this.close(id));
  }

  /**
   * Returns the message index of the text. A message with this index replaces the text. If there is no such
   * text, it returns a new index.
   */
  take(id: string): number {
    const index = this.#streamed.get(id)?.index ?? this.#takeIndex();
    this.#streamed.delete(id);
    return index;
  }
}

/** A piece of text and its update delta. */
export interface Piece {
  readonly text: string;
  readonly delta: UpdateDelta;
}

export function textPiece(text: string): Piece {
  return { text, delta: { type: 'text', text_delta: text } };
}

/** Returns a piece of JSON text. */
export function dataPiece(text: string): Piece {
  return { text, delta: { type: 'data', data_delta: text } };
}

export function summaryPiece(text: string, summary_index = 0): Piece {
  return { text, delta: { type: 'reasoning_summary', summary_index, summary_delta: text } };
}

export function thoughtPiece(text: string, content_index = 0): Piece {
  return { text, delta: { type: 'reasoning_content', content_index, content_delta: text } };
}
