import type { DeltaWriter, JsonObject, ValueWriter } from '@millrace/core';
import { countIn } from '../json/fields.ts';

/** The name of the custom part for a tool that the server ran. */
const partName = 'executed_tool';

/** Maximum number of tools in one answer. No server runs this many tools. */
const maxTools = 256;

/**
 * Stores the tool calls that Groq ran itself. The arguments arrive first, followed by the output and the
 * results. Each tool call becomes a custom part with the fields that the server sent.
 */
export class ExecutedTools {
  readonly #writer: DeltaWriter;
  readonly #tools = new Map<number, { readonly part: ValueWriter; fields: JsonObject }>();

  constructor(writer: DeltaWriter) {
    this.#writer = writer;
  }

  /** Adds entries. Entries with the same index belong to the same call. */
  add(entries: readonly JsonObject[]): void {
    for (const [position, entry] of entries.entries()) {
      const index = countIn(entry, 'index') ?? position;
      let tool = this.#tools.get(index);
      if (tool === undefined) {
        if (this.#tools.size >= maxTools) return;
        tool = { part: this.#writer.custom(partName), fields: {} };
        this.#tools.set(index, tool);
      }
      const known = Object.entries(entry).filter(([, value]) => value !== null && value !== '');
      tool.fields = { ...tool.fields, ...Object.fromEntries(known) };
      tool.part.set(tool.fields);
    }
  }

  commit(): void {
    for (const { part } of this.#tools.values()) part.commit();
  }
}
