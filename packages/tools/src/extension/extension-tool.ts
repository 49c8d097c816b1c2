import type { Tool } from '@millrace/agent';
import type { JsonObject, JsonValue } from '@millrace/core';
import { markAsRemote, reservedToolNames } from '../permissions/tool-kinds.ts';

/** Options of `extensionTool`. */
export interface ExtensionToolOptions {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly inputSchema: JsonObject;
  /** The name of the program that implements the tool, for the user. */
  readonly owner: string;
  /** Runs the tool. A text goes to the model as it is, and other values as JSON. */
  readonly execute: (input: JsonObject, signal: AbortSignal) => Promise<JsonValue | undefined>;
}

const maxSummaryLength = 200;

/** Returns true if a tool of another program must not have this name. */
export function isReservedToolName(name: string): boolean {
  return reservedToolNames.has(name) || name === 'skill';
}

/**
 * Creates a tool that code of the user or of a project implements. As for a tool of an MCP server, each call
 * needs an approval, unless a rule allows it, and the policy ignores the meaning of its name.
 */
export function extensionTool(options: ExtensionToolOptions): Tool {
  const { name, description, inputSchema, owner, execute } = options;
  return markAsRemote<Tool>({
    ...{ name, description, inputSchema, effects: 'external', afterCrash: 'fail' },
    ...{ timeoutMs: undefined, maxOutputLength: 30_000, retries: 0, startsSession: false },
    summarize: (input) => `${owner}: ${name} ${JSON.stringify(input)}`.slice(0, maxSummaryLength),
    validate: async (input) =>
      typeof input === 'object' && input !== null && !Array.isArray(input)
        ? { ok: true, value: input }
        : { ok: false, problem: 'The arguments must be a JSON object' },
    execute: (input, { signal }) => execute(input as JsonObject, signal),
  });
}
