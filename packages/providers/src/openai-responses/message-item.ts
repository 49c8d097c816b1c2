import type { JsonObject } from '@millrace/core';
import { objectsIn, textIn } from '../json/fields.ts';
import { OutputItem } from './output-item.ts';
import { Passage } from './passage.ts';

/** What the model says: text and refusals, by content index. */
export class MessageItem extends OutputItem {
  readonly type = 'message';
  readonly #passages = new Map<number, Passage>();

  get isRefused(): boolean {
    return [...this.#passages.values()].some(({ isRefusal, isEmpty }) => isRefusal && !isEmpty);
  }

  override get isEmpty(): boolean {
    return [...this.#passages.values()].every(({ isEmpty }) => isEmpty);
  }

  append(contentIndex: number, chunk: string, isRefusal: boolean): void {
    if (!this.isClosed) this.#passage(contentIndex, isRefusal).append(chunk);
  }

  settle(contentIndex: number, whole: string, isRefusal: boolean): void {
    if (!this.isClosed) this.#passage(contentIndex, isRefusal).settle(whole);
  }

  cite(contentIndex: number, annotation: JsonObject): void {
    if (!this.isClosed) this.#passage(contentIndex, false).cite(annotation);
  }

  /** All sources, where the end of a passage names them again. */
  settleCitations(contentIndex: number, part: JsonObject): void {
    if (!this.isClosed) this.#passage(contentIndex, false).settleCitations(part);
  }

  override agrees(item: JsonObject): boolean {
    return objectsIn(item, 'content').every((part, index) => {
      const { whole } = said(part);
      return this.#passages.get(index)?.agrees(whole, part) ?? whole === '';
    });
  }

  override retract(): void {
    for (const passage of this.#passages.values()) passage.retract();
  }

  protected override finish(item: JsonObject): void {
    for (const [index, part] of objectsIn(item, 'content').entries()) {
      const { whole, isRefusal } = said(part);
      const passage = this.#passage(index, isRefusal);
      passage.settle(whole);
      if (!isRefusal) passage.settleCitations(part);
    }
    this.#commit();
  }

  protected override giveUp(): void {
    this.#commit();
  }

  #passage(contentIndex: number, isRefusal: boolean): Passage {
    const there = this.#passages.get(contentIndex);
    if (there !== undefined && (there.isRefusal === isRefusal || !there.isEmpty)) return there;
    const { writer, request } = this.context;
    const passage = new Passage(writer, request, isRefusal);
    this.#passages.set(contentIndex, passage);
    return passage;
  }

  #commit(): void {
    // Models do worse when the phase, commentary or final answer, does not come back.
    const phase = textIn(this.fields, 'phase');
    const state = this.state({
      type: this.type,
      ...(this.id === undefined ? {} : { id: this.id }),
      ...(phase === undefined ? {} : { phase }),
    });
    for (const passage of this.#passages.values()) passage.commit(state);
  }
}

function said(part: JsonObject): { readonly whole: string; readonly isRefusal: boolean } {
  const refusal = textIn(part, 'refusal');
  return { whole: refusal ?? textIn(part, 'text') ?? '', isRefusal: refusal !== undefined };
}
