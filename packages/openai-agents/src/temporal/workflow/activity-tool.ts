import type { JsonValue } from '@millrace/core';
import { type FunctionTool, type ToolOptions, tool } from '@openai/agents';
import { ApplicationFailure } from '@temporalio/workflow';
import type { ActivityTimes } from './activities.ts';
import { currentTask } from './task-run.ts';

type CallDetails = Parameters<FunctionTool['invoke']>[2];
type ToolParameters = Parameters<typeof tool>[0]['parameters'];

export interface ActivityToolOptions
  extends ActivityTimes,
    Pick<ToolOptions<undefined>, 'isEnabled' | 'errorFunction'> {
  /** The worker has what it does under the same name: `openaiAgentsPlugin({ tools: { … } })`. */
  readonly name: string;
  readonly description: string;
  /** A Zod object, or JSON Schema. */
  readonly parameters: ToolParameters;
  readonly strict?: boolean | undefined;
}

/** A function tool that an activity runs: what it does is the worker's, and is on the log as it happens. */
export function activityTool(options: ActivityToolOptions): FunctionTool {
  const { heartbeatMs, timeoutMs, maxAttempts, strict = true, ...rest } = options;
  const { name } = rest;
  const times = {
    ...(heartbeatMs !== undefined && { heartbeatMs }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(maxAttempts !== undefined && { maxAttempts }),
  };
  const execute = async (input: unknown, _context: unknown, details?: CallDetails) => {
    const task = currentTask.getStore();
    const callId = details?.toolCall?.callId;
    if (task === undefined || callId === undefined) throw outside(name);
    const { text } = await task.run({ callId, name }, (input ?? {}) as JsonValue, times);
    return text;
  };
  // Its input is what the parameters say, which the SDK checks; their type does not matter here.
  return tool({ ...rest, strict, execute } as unknown as ToolOptions<undefined>) as FunctionTool;
}

function outside(name: string): ApplicationFailure {
  const message = `Cannot run tool ${name}: its call belongs to no task. Run the agent with runAgent(…)`;
  return ApplicationFailure.nonRetryable(message, 'millrace.bad_state');
}
