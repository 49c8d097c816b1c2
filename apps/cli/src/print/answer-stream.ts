import type { AgentEvent, ItemId, PartId } from '@millrace/core';

/** What there is to write now. */
export interface AnswerOutput {
  readonly text: string;
  /** What was written of this turn until here does not count: this says it anew, from its start. */
  readonly restart?: string;
}

interface TextPart {
  readonly attempt: number;
  /** Only ever appended to: to look into a growing text costs its length. */
  text: string;
  /** What of it is not accounted for yet. */
  unwritten: string;
  isOver: boolean;
}

type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: Type }>;

/**
 * What the assistant says, from events, for an output that only goes forward. Each turn's text ends
 * its line, and a blank line stands between two of them. A try that is superseded may already be
 * written: as long as the next one says the same, nothing is written twice; where it does not, its
 * text begins anew on a line of its own.
 */
export class AnswerStream {
  readonly #assistants = new Set<ItemId>();
  /** The text parts of the turn, in the order in which they began. */
  readonly #parts = new Map<PartId, TextPart>();
  #turn = 0;
  /** What is on the output of this turn. */
  #shown = '';
  /** How much of what is to be on the output agrees with what is. */
  #agreed = 0;
  /** Parts before this one are whole and accounted for. */
  #head = 0;
  #isLineStart = true;
  #hasSpoken = false;
  /** The turn's line was ended: what else it has to say would stand in the next one. */
  #isEnded = false;
  #out = '';
  #anew: string | undefined;

  /** Whether what is written so far ends its line. */
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

  /** Something was taken away or changed: what is on the output is looked at again from its start. */
  #recount(): void {
    this.#agreed = this.#head = 0;
    for (const part of this.#parts.values()) part.unwritten = part.text;
    this.#goOn();
  }

  /** Writes what is new, part by part: the next one waits until the one before it is whole. */
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

  /** All that agreed is said again, so that what follows the mark is the whole. */
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
