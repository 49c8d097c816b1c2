import type { JsonValue } from '@millrace/core';
import { type FunctionTool, type ToolOptions, tool } from '@openai/agents';
import { ApplicationFailure } from '@temporalio/workflow';
import { assertKnownOptions } from '../../known-options.ts';
import type { ActivityTimeouts } from './activities.ts';
import { currentTask } from './task-run.ts';

type CallDetails = Parameters<FunctionTool['invoke']>[2];
type ToolParameters = Parameters<typeof tool>[0]['parameters'];

/** Options of `activityTool`. */
export interface ActivityToolOptions
  extends ActivityTimeouts,
    Pick<ToolOptions<undefined>, 'isEnabled' | 'errorFunction'> {
  /**
   * Name of the tool. The worker has an implementation with the same name, in `openaiAgentsPlugin({ tools: {
   * … } })`.
   */
  readonly name: string;
  /** Description for the model. */
  readonly description: string;
  /** A Zod object or a JSON Schema. */
  readonly parameters: ToolParameters;
  /** True if the input must match the schema exactly. Default: true. */
  readonly strict?: boolean | undefined;
}

/**
 * Creates a function tool that runs in an activity. The worker has the implementation, and writes the
 * progress of the tool to the log.
 */
export function activityTool(options: ActivityToolOptions): FunctionTool {
  assertKnownOptions('activityTool', options, {
    ...{ name: true, description: true, parameters: true, strict: true },
    ...{ heartbeatMs: true, timeoutMs: true, maxAttempts: true },
    ...{ isEnabled: true, errorFunction: true },
  });
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
    if (task === undefined || callId === undefined) throw notInRunAgent(name);
    const { text } = await task.run({ callId, name }, (input ?? {}) as JsonValue, times);
    return text;
  };
  // The SDK validates the input, so its static type does not matter here.
  return tool({ ...rest, strict, execute } as unknown as ToolOptions<undefined>) as FunctionTool;
}

function notInRunAgent(name: string): ApplicationFailure {
  const message = `Cannot run tool ${name}: its call does not belong to a run. Run the agent with runAgent(…)`;
  return ApplicationFailure.nonRetryable(message, 'millrace.bad_state');
}
