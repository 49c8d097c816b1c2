import type { Execution, Tool, ToolContext } from '@millrace/agent';
import type { JsonValue } from '@millrace/core';

/** What an execution may use. Calls of an agent that is a tool have no place on the log, and no ids. */
export type WorkerToolContext = Pick<ToolContext, 'signal' | 'update'> &
  Partial<Pick<ToolContext, 'session' | 'toolCallId' | 'turn' | 'blobs' | 'trace'>>;

/** What a tool does, in the worker. It gets the input as the tool's `parameters` in the workflow made it. */
// biome-ignore lint/suspicious/noExplicitAny: each tool has its own input
export type WorkerToolFunction = (input: any, context: WorkerToolContext) => Execution;

export interface WorkerToolOptions
  extends Partial<Pick<Tool, 'replay' | 'timeoutMs' | 'retries' | 'maxOutputLength'>> {
  readonly execute: WorkerToolFunction;
}

/** A function, or one with how it may be run: `replay: 'safe'` may run again after its worker died. */
export type WorkerTool = WorkerToolFunction | WorkerToolOptions;

const defaultOutputLength = 30_000;

/** As the log's steps want it. Its input was checked in the workflow. */
export function stepTool(name: string, tool: WorkerTool, input: JsonValue): Tool {
  const { execute, ...own } = typeof tool === 'function' ? { execute: tool } : tool;
  return {
    ...{ name, description: name, inputSchema: { type: 'object' }, effects: 'external' },
    ...{ replay: 'never', timeoutMs: undefined, retries: 0, startsSession: false },
    ...{ maxOutputLength: defaultOutputLength, ...own },
    summarize: () => name,
    validate: async () => ({ ok: true, value: input }),
    execute: (_input, context) => execute(input, context),
  };
}

/** Where nobody watches: to its end, and as text. */
export async function runPlainly(
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
