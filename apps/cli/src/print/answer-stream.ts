import type { AgentEvent, ItemId, PartId } from '@millrace/core';

/** The text to write after an event. */
export interface AnswerOutput {
  readonly text: string;
  /** Set if the output so far is wrong: the whole answer of this turn, to be written again. */
  readonly restart?: string;
}

interface TextPart {
  readonly attempt: number;
  /** Only appended to. Reading a growing string would copy it. */
  text: string;
  /** The end of the text that is not compared or written yet. */
  unwritten: string;
  isOver: boolean;
}

type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: Type }>;

/**
 * Turns events into answer text for an output that cannot go back. Each turn ends with a line
 * break, and a blank line separates two turns. The text of a superseded attempt may already be
 * written. While the next attempt produces the same text, nothing is written twice. When it
 * differs, the answer starts again on a new line.
 */
export class AnswerStream {
  readonly #assistants = new Set<ItemId>();
  /** The text parts of the turn, in the order in which they started. */
  readonly #parts = new Map<PartId, TextPart>();
  #turn = 0;
  /** The text of this turn that is already written. */
  #shown = '';
  /** How many characters of the written text match the current parts. */
  #agreed = 0;
  /** Index of the first part that is not complete yet. */
  #head = 0;
  #isLineStart = true;
  #hasSpoken = false;
  /** True if the turn's last line is ended. More text would appear on the next line. */
  #isEnded = false;
  #out = '';
  #anew: string | undefined;

  /** Whether the written text ends with a line break. */
  get isLineStart(): boolean {
    return this.#isLineStart;
  }

  add(event: AgentEvent): AnswerOutput {
    this.#hear(event);
    const anew = this.#anew;
    const step = anew === undefined ? { text: this.#out } : { text: this.#out, anew };
    this.#out = '';
    this.#anew = undefined;
    return step;
  }

  #hear(event: AgentEvent): void {
    switch (event.type) {
      case 'item_started':
        if (event.kind === 'assistant') this.#assistants.add(event.itemId);
        return;
      case 'part_started':
        if (event.kind === 'text' && this.#assistants.has(event.itemId)) this.#partOf(event);
        return;
      case 'assistant_text_delta':
        this.#append(this.#partOf(event), event.text);
        return this.#goOn();
      case 'part_finished':
        return this.#finishPart(event);
      case 'part_retracted':
        if (this.#parts.delete(event.partId)) this.#recount();
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
    const part = { attempt: event.attempt, text: '', unwritten: '', isOver: false };
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
    this.#agreed = this.#head = 0;
    this.#isEnded = false;
  }

  #finishPart(event: EventOf<'part_finished'>): void {
    const { part, kind, partId, itemId } = event;
    const isText = (part?.kind ?? kind) === 'text' && this.#assistants.has(itemId);
    if (!isText) {
      if (this.#parts.delete(partId)) this.#recount();
      return;
    }
    const told = this.#partOf(event);
    told.isOver = true;
    if (part?.kind !== 'text') return this.#goOn();
    if (part.text.startsWith(told.text)) {
      this.#append(told, part.text.slice(told.text.length));
      return this.#goOn();
    }
    told.text = part.text;
    this.#recount();
  }

  #supersede({ turn, attempt }: EventOf<'attempt_superseded'>): void {
    if (turn !== this.#turn) return;
    for (const [id, part] of this.#parts) if (part.attempt === attempt) this.#parts.delete(id);
    this.#recount();
  }

  /** Compares the written text from its start, after a part was removed or replaced. */
  #recount(): void {
    this.#agreed = this.#head = 0;
    for (const part of this.#parts.values()) part.unwritten = part.text;
    this.#goOn();
  }

  /** Writes new text part by part. A part waits until the previous one is complete. */
  #goOn(): void {
    const parts = [...this.#parts.values()];
    for (let part = parts[this.#head]; part !== undefined; part = parts[this.#head]) {
      const news = part.unwritten;
      part.unwritten = '';
      if (news !== '') this.#say(news);
      if (!part.isOver) return;
      this.#head++;
    }
  }

  #say(news: string): void {
    const isWritten = this.#shown.length - this.#agreed;
    if (isWritten > 0) {
      const same = Math.min(isWritten, news.length);
      const isSame = this.#shown.startsWith(news.slice(0, same), this.#agreed);
      if (!isSame) return this.#sayAnew(news);
      this.#agreed += same;
      if (same < news.length) this.#say(news.slice(same));
      return;
    }
    if (this.#isEnded) return this.#sayAnew(news);
    if (this.#shown === '' && this.#hasSpoken) this.#write(this.#isLineStart ? '\n' : '\n\n');
    this.#shown += news;
    this.#agreed = this.#shown.length;
    this.#write(news);
  }

  /** Writes the matching text again, so that the restarted answer is complete. */
  #sayAnew(news: string): void {
    const text = this.#shown.slice(0, this.#agreed) + news;
    this.#isEnded = false;
    this.#breakLine();
    this.#anew ??= '';
    this.#shown = text;
    this.#agreed = text.length;
    this.#write(text);
  }

  #endTurn(): void {
    if (this.#isEnded || this.#shown === '') return;
    if (this.#agreed < this.#shown.length) this.#sayAnew('');
    this.#breakLine();
    this.#isEnded = true;
  }

  #breakLine(): void {
    if (!this.#isLineStart) this.#write('\n');
  }

  #write(text: string): void {
    if (text === '') return;
    if (this.#anew === undefined) this.#out += text;
    else this.#anew += text;
    this.#isLineStart = text.endsWith('\n');
    this.#hasSpoken = true;
  }
}
