import type { AgentEvent, ItemId, PartId } from '@millrace/core';

/** The text to write to the output after an event. */
export interface AnswerOutput {
  readonly text: string;
  /**
   * The whole answer of this turn. It is set if the text written before is wrong, so that the
   * answer must be written again.
   */
  readonly restart?: string;
}

interface TextPart {
  readonly attempt: number;
  /**
   * The full text of the part. Code only appends to it, because reading a growing string would copy
   * it.
   */
  text: string;
  /** The end of the text, which is not compared with the written text yet, or not written yet. */
  unwritten: string;
  isComplete: boolean;
}

type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: Type }>;

/**
 * Turns events into answer text for an output that cannot be erased. Each turn ends with a line
 * break, and an empty line separates two turns.
 *
 * The text of a superseded attempt may already be written. While the next attempt produces the same
 * text, nothing is written twice. When the text differs, the answer starts again on a new line.
 */
export class AnswerStream {
  readonly #assistants = new Set<ItemId>();
  /** The text parts of the turn, in the order in which they started. */
  readonly #parts = new Map<PartId, TextPart>();
  #turn = 0;
  /** The text of this turn that is already written. */
  #shown = '';
  /** The number of characters of the written text that match the current parts. */
  #matched = 0;
  /** The index of the first incomplete part. */
  #firstOpenPart = 0;
  #isLineStart = true;
  #hasWritten = false;
  /** True if the last line of the turn has ended. Further text would start a new line. */
  #isEnded = false;
  #outputText = '';
  #restartText: string | undefined;

  /** True if the written text ends with a line break. */
  get isLineStart(): boolean {
    return this.#isLineStart;
  }

  add(event: AgentEvent): AnswerOutput {
    this.#handle(event);
    const restart = this.#restartText;
    const text = this.#outputText;
    this.#outputText = '';
    this.#restartText = undefined;
    return restart === undefined ? { text } : { text, restart };
  }

  #handle(event: AgentEvent): void {
    switch (event.type) {
      case 'item_started':
        if (event.kind === 'assistant') this.#assistants.add(event.itemId);
        return;
      case 'part_started':
        if (event.kind === 'text' && this.#assistants.has(event.itemId)) this.#partOf(event);
        return;
      case 'assistant_text_delta':
        this.#append(this.#partOf(event), event.text);
        return this.#writeReady();
      case 'part_finished':
        return this.#finishPart(event);
      case 'part_retracted':
        if (this.#parts.delete(event.partId)) this.#compareAgain();
        return;
      case 'attempt_superseded':
        return this.#supersede(event);
      case 'response_finished':
      case 'item_finished':
        if (this.#assistants.has(event.itemId)) this.#endTurn();
        return;
      case 'run_finished':
        return this.#endTurn();
      default:
    }
  }

  #partOf(event: AgentEvent & { readonly partId: PartId }): TextPart {
    if (event.turn !== this.#turn) this.#beginTurn(event.turn);
    const known = this.#parts.get(event.partId);
    if (known !== undefined) return known;
    const part = { attempt: event.attempt, text: '', unwritten: '', isComplete: false };
    this.#parts.set(event.partId, part);
    return part;
  }

  #append(part: TextPart, text: string): void {
    part.text += text;
    part.unwritten += text;
  }

  #beginTurn(turn: number): void {
    this.#endTurn();
    this.#turn = turn;
    this.#parts.clear();
    this.#shown = '';
    this.#matched = this.#firstOpenPart = 0;
    this.#isEnded = false;
  }

  #finishPart(event: EventOf<'part_finished'>): void {
    const { part, kind, partId, itemId } = event;
    const isText = (part?.kind ?? kind) === 'text' && this.#assistants.has(itemId);
    if (!isText) {
      if (this.#parts.delete(partId)) this.#compareAgain();
      return;
    }
    const known = this.#partOf(event);
    known.isComplete = true;
    if (part?.kind !== 'text') return this.#writeReady();
    if (part.text.startsWith(known.text)) {
      this.#append(known, part.text.slice(known.text.length));
      return this.#writeReady();
    }
    known.text = part.text;
    this.#compareAgain();
  }

  #supersede({ turn, attempt }: EventOf<'attempt_superseded'>): void {
    if (turn !== this.#turn) return;
    for (const [id, part] of this.#parts) if (part.attempt === attempt) this.#parts.delete(id);
    this.#compareAgain();
  }

  /** Compares all parts with the written text again, because a part was removed or replaced. */
  #compareAgain(): void {
    this.#matched = this.#firstOpenPart = 0;
    for (const part of this.#parts.values()) part.unwritten = part.text;
    this.#writeReady();
  }

  /** Writes new text part by part. A part is written only after the previous one is complete. */
  #writeReady(): void {
    const parts = [...this.#parts.values()];
    for (
      let part = parts[this.#firstOpenPart];
      part !== undefined;
      part = parts[this.#firstOpenPart]
    ) {
      const text = part.unwritten;
      part.unwritten = '';
      if (text !== '') this.#writeNew(text);
      if (!part.isComplete) return;
      this.#firstOpenPart++;
    }
  }

  #writeNew(text: string): void {
    const unmatched = this.#shown.length - this.#matched;
    if (unmatched > 0) {
      const same = Math.min(unmatched, text.length);
      const isSame = this.#shown.startsWith(text.slice(0, same), this.#matched);
      if (!isSame) return this.#restart(text);
      this.#matched += same;
      if (same < text.length) this.#writeNew(text.slice(same));
      return;
    }
    if (this.#isEnded) return this.#restart(text);
    if (this.#shown === '' && this.#hasWritten) this.#write(this.#isLineStart ? '\n' : '\n\n');
    this.#shown += text;
    this.#matched = this.#shown.length;
    this.#write(text);
  }

  /**
   * Starts the answer again on a new line. The matching text is written again too, so that the new
   * answer is complete.
   */
  #restart(newText: string): void {
    const text = this.#shown.slice(0, this.#matched) + newText;
    this.#isEnded = false;
    this.#breakLine();
    this.#restartText ??= '';
    this.#shown = text;
    this.#matched = text.length;
    this.#write(text);
  }

  #endTurn(): void {
    if (this.#isEnded || this.#shown === '') return;
    if (this.#matched < this.#shown.length) this.#restart('');
    this.#breakLine();
    this.#isEnded = true;
  }

  #breakLine(): void {
    if (!this.#isLineStart) this.#write('\n');
  }

  #write(text: string): void {
    if (text === '') return;
    if (this.#restartText === undefined) this.#outputText += text;
    else this.#restartText += text;
    this.#isLineStart = text.endsWith('\n');
    this.#hasWritten = true;
  }
}
