import { type JsonValue, PartialJson, type ToolCallPart } from '@millrace/core';
import { useState } from 'react';

/** Beyond that a value that grows is shown as the text that it is. */
const maxLength = 50_000;

/** What the arguments say so far; undefined where nothing can be made of them yet. */
export function useLiveInput(part: ToolCallPart, isOpen: boolean): JsonValue | undefined {
  const [reader] = useState(() => new GrowingJson());
  if (part.input !== undefined && !isOpen) return part.input;
  return part.arguments.length > maxLength ? undefined : reader.read(part.arguments);
}

/** Reads only what is new. */
class GrowingJson {
  #json = new PartialJson();
  #length = 0;

  read(text: string): JsonValue | undefined {
    if (text.length < this.#length) {
      this.#json = new PartialJson();
      this.#length = 0;
    }
    if (text.length > this.#length) this.#json.feed(text.slice(this.#length));
    this.#length = text.length;
    return this.#json.value;
  }
}
