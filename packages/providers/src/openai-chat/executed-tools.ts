import type { DeltaWriter, JsonObject, ValueWriter } from '@millrace/core';
import { countIn, GrowingObject } from '../json/fields.ts';

/** The name of the custom part for a tool that the server ran. */
const partName = 'executed_tool';

/** Maximum number of tools in one answer. No server runs this many tools. */
const maxTools = 256;

/** Maximum number of updates of one tool while the answer streams. The end of the answer has the last one. */
const maxUpdates = 8;

interface ExecutedTool {
  readonly part: ValueWriter;
  readonly fields: GrowingObject;
  updates: number;
}

/**
 * Stores the tool calls that Groq ran itself. The arguments arrive first, followed by the output and the
 * results. Each tool call becomes a custom part with the fields that the server sent.
 */
export class ExecutedTools {
  readonly #writer: DeltaWriter;
  readonly #tools = new Map<number, ExecutedTool>();

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
        tool = { part: this.#writer.custom(partName), fields: new GrowingObject(), updates: 0 };
        this.#tools.set(index, tool);
      }
      for (const [name, value] of Object.entries(entry))
        if (value !== null && value !== '') tool.fields.set(name, value);
      tool.updates++;
      // Each update writes all fields.
      if (tool.updates <= maxUpdates) tool.part.set(tool.fields.value);
    }
  }

  commit(): void {
    for (const { part, fields, updates } of this.#tools.values()) {
      if (updates > maxUpdates) part.set(fields.value);
      part.commit();
    }
  }
}
