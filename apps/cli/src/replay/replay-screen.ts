import { type Observer, type TerminalOptions, terminalObserver } from '@millrace/agent';
import type { AgentEvent, ItemId, ItemKind, LogRecord, Part } from '@millrace/core';
import { printable } from '../text/cells/printable.ts';

/**
 * Prints a session to a terminal that scrolls. Unlike a live run, it also prints the user's
 * messages and the text of settled turns. Settled turns have no deltas.
 */
export class ReplayScreen {
  readonly #observe: Observer;
  readonly #kinds = new Map<ItemId, ItemKind>();
  #text = '';
  #isLineStart = true;

  constructor(options: Omit<TerminalOptions, 'write'>) {
    this.#observe = terminalObserver({ ...options, write: (text) => this.#write(text) });
  }

  /** Returns the text that a record adds to the screen. */
  show(record: LogRecord, events: readonly AgentEvent[]): string {
    for (const event of events) this.#note(event);
    this.#observe(record, events);
    const text = this.#text;
    this.#text = '';
    return text;
  }

  #note(event: AgentEvent): void {
    switch (event.type) {
      case 'item_started':
        this.#kinds.set(event.itemId, event.kind);
        return;
      case 'part_finished':
        if (event.part !== undefined && this.#kinds.get(event.itemId) === 'user')
          this.#person(event.part);
        return;
      case 'turn_settled':
        for (const { itemId, parts } of event.items)
          if (this.#kinds.get(itemId) === 'assistant')
            for (const { part } of parts) this.#paragraph(part);
        return;
      default:
    }
  }

  #person(part: Part): void {
    const text = part.kind === 'text' ? part.text : `[${part.kind}]`;
    const lines = printable(text.trimEnd()).replaceAll('\n', '\n  ');
    this.#breakLine();
    this.#write(`\n› ${lines}\n\n`);
  }

  #paragraph(part: Part): void {
    if (part.kind !== 'text') return;
    this.#breakLine();
    this.#write(`${printable(part.text.trimEnd())}\n`);
  }

  #breakLine(): void {
    if (!this.#isLineStart) this.#write('\n');
  }

  #write(text: string): void {
    this.#text += text;
    this.#isLineStart = text.endsWith('\n');
  }
}
