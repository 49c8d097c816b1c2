import type { Tool, ToolContext, ToolExecution } from '@millrace/agent';
import type { JsonValue, OptionNames } from '@millrace/core';

/**
 * The context of a tool execution. The calls of an agent that is used as a tool are not on the log and have
 * no ids.
 */
export type WorkerToolContext = Pick<ToolContext, 'signal' | 'update'> &
  Partial<Pick<ToolContext, 'session' | 'toolCallId' | 'turn' | 'blobs' | 'trace'>>;

/**
 * The implementation of a tool in the worker. The workflow has already parsed the input with the tool's
 * `parameters`.
 */
// biome-ignore lint/suspicious/noExplicitAny: each tool has its own input
export type WorkerToolFunction = (input: any, context: WorkerToolContext) => ToolExecution;

/** A tool implementation with options for its execution. */
export interface WorkerToolOptions
  extends Partial<Pick<Tool, 'afterCrash' | 'timeoutMs' | 'retries' | 'maxOutputLength'>> {
  /** Runs the tool. */
  readonly execute: WorkerToolFunction;
}

/** The names of all options of a worker tool. */
export const workerToolNames: OptionNames<WorkerToolOptions> = {
  ...{ execute: true, afterCrash: true, timeoutMs: true, retries: true, maxOutputLength: true },
};

/**
 * A function, or a function with options. With `afterCrash: 'repeat'`, the function may run again after
 * its worker died.
 */
export type WorkerTool = WorkerToolFunction | WorkerToolOptions;

const defaultOutputLength = 30_000;

/**
 * Converts a worker tool to a tool of an agent. The code of the agent can then run the tool and write its
 * progress and its result to the log. The workflow has already validated the input.
 */
export function stepTool(name: string, tool: WorkerTool, input: JsonValue): Tool {
  const { execute, ...own } = typeof tool === 'function' ? { execute: tool } : tool;
  return {
    ...{ name, description: name, inputSchema: { type: 'object' }, effects: 'external' },
    ...{ afterCrash: 'fail', timeoutMs: undefined, retries: 0, startsSession: false },
    ...{ maxOutputLength: defaultOutputLength, ...own },
    summarize: () => name,
    validate: async () => ({ ok: true, value: input }),
    execute: (_input, context) => execute(input, context),
  };
}

/** Runs a tool without progress and returns its result as text. */
export async function runToText(
  tool: WorkerTool,
  input: JsonValue,
  signal: AbortSignal,
): Promise<string> {
  const execute = typeof tool === 'function' ? tool : tool.execute;
  const execution = execute(input, { signal, update: () => {} });
  const returned = await (Symbol.asyncIterator in execution ? lastOf(execution) : execution);
  if (returned === undefined) return 'Done.';
  return typeof returned === 'string' ? returned : JSON.stringify(returned);
}

async function lastOf<T>(generator: AsyncGenerator<string, T>): Promise<T> {
  for (;;) {
    const next = await generator.next();
    if (next.done) return next.value;
  }
}
