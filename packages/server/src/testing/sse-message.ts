/** One event as a browser would see it. */
export interface SseMessage {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** A browser's reading of an event stream, by its specification and independent of what writes it. */
export class SseParser {
  #text = '';
  #id: string | undefined;
  #event = '';
  #data: string[] = [];
  retryMs: number | undefined;
  comments = 0;

  /** The last id that counts: of the last event that came whole. */
  lastId: string | undefined;

  add(text: string): readonly SseMessage[] {
    const lines = (this.#text + text).split('\n');
    this.#text = lines.pop() ?? '';
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): SseMessage | undefined {
    if (line === '') return this.#dispatch();
    if (line.startsWith(':')) {
      this.comments++;
      return undefined;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'id') this.#id = value;
    if (field === 'event') this.#event = value;
    if (field === 'data') this.#data.push(value);
    if (field === 'retry') this.retryMs = Number(value);
    return undefined;
  }

  #dispatch(): SseMessage | undefined {
    this.lastId = this.#id;
    const [event, data] = [this.#event || 'message', this.#data];
    this.#event = '';
    this.#data = [];
    return data.length === 0 ? undefined : { id: this.#id, event, data: data.join('\n') };
  }
}
