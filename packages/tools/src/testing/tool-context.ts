import type { Tool, ToolContext, ToolExecution, ToolOutput, ToolReturn } from '@millrace/agent';
import { executionId, type JsonValue, runId, sessionId, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';

/** The place of the calls of `runTool`. Pass it to `approve` functions. */
export const testPlace = { session: sessionId('session'), turn: 1 } as const;

/** Returns a tool context as the agent loop creates it, with its own blobs. `given` overrides fields. */
function toolContext(given: Partial<ToolContext> = {}): ToolContext {
  return {
    signal: new AbortController().signal,
    ...testPlace,
    runId: runId('run'),
    toolCallId: toolCallId('call'),
    idempotencyKey: `${testPlace.session}:${testPlace.turn}:${given.toolCallId ?? 'call'}`,
    context: undefined,
    executionId: executionId('execution'),
    child: undefined,
    blobs: memoryLog().blobs,
    update: () => {},
    ...given,
  };
}

/** The result of a call and the updates that the tool sent. */
export type ToolRunResult = Omit<ToolOutput['output'], 'isError'> & {
  readonly isError: boolean;
  /** The texts that the tool sent with `update()` or yielded, in order. */
  readonly updates: readonly string[];
  /** The thrown value. The model gets its message as the text. */
  readonly thrown?: unknown;
};

/**
 * Validates and runs a call as the agent loop does. A thrown error or an invalid input becomes an error
 * result.
 */
export async function runTool(
  tool: Tool,
  input: JsonValue,
  given: Partial<ToolContext> = {},
): Promise<ToolRunResult> {
  const updates: string[] = [];
  const update = (text: string) => {
    updates.push(text);
    given.update?.(text);
  };
  const validated = await tool.validate(input);
  if (!validated.ok) return { text: validated.problem, isError: true, updates };
  try {
    const execution = tool.execute(validated.value, toolContext({ ...given, update }));
    return { ...outputOf(await drain(execution, update)), updates };
  } catch (thrown) {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    return { text, isError: true, updates, thrown };
  }
}

async function drain(
  execution: ToolExecution,
  update: (text: string) => void,
): Promise<ToolReturn> {
  if (!(Symbol.asyncIterator in execution)) return execution;
  for (;;) {
    const { done, value } = await execution.next();
    if (done === true) return value;
    update(value);
  }
}

function outputOf(returned: ToolReturn): Omit<ToolRunResult, 'updates'> {
  if (returned === undefined) return { text: '', isError: false };
  if (typeof returned === 'string') return { text: returned, isError: false };
  if (isOutput(returned)) return { ...returned.output, isError: returned.output.isError ?? false };
  return { text: JSON.stringify(returned), value: returned, isError: false };
}

function isOutput(returned: JsonValue | ToolOutput): returned is ToolOutput {
  return typeof returned === 'object' && returned !== null && 'output' in returned;
}
