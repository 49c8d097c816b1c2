import { type AskedApproval, type FoldState, isJsonObject, type Usage } from '@millrace/core';
import type { ResponseEnd } from '../openai/response-log.ts';

/** An event of AG-UI. */
export interface RunEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface EndedRun {
  readonly threadId: string;
  readonly runId: string;
  readonly end: ResponseEnd;
  readonly state: FoldState;
  readonly usage: readonly object[];
}

/** Returns the last event of a run. */
export function runEnd({ threadId, runId, end, state, usage }: EndedRun): RunEvent {
  const { stop, error } = end;
  const used = usage.length > 0 ? { usage } : {};
  const finished = { type: 'RUN_FINISHED', threadId, runId, ...used };
  const failed = (code: string, message: string) => ({
    ...{ type: 'RUN_ERROR', code, message, ...used },
  });
  switch (stop.reason) {
    case 'parked':
      return { ...finished, outcome: waiting(state) };
    case 'aborted':
      if (stop.cause !== 'interrupted') return { ...finished, outcome: { type: 'cancelled' } };
      return failed(
        'interrupted',
        'The process of the agent ended during the run. The partial answer is stored',
      );
    case 'error':
      return failed(error?.code ?? 'error', error?.message ?? 'The run failed');
    case 'limit':
      return failed('limit', `The run reached its limit${stop.cause ? ` (${stop.cause})` : ''}`);
    case 'blocked':
      return failed('blocked', 'A guardrail stopped the run');
    case 'stop':
      return { ...finished, outcome: { type: 'success' } };
    default:
      return { ...finished, outcome: { type: 'success' }, result: { stop: stop.reason } };
  }
}

/** Returns what the run waits for: answers to questions, or results of tools that the client runs. */
function waiting({ asked, awaited }: FoldState): object {
  if (asked.length > 0) return { type: 'interrupt', interrupts: asked.map(interruptOf) };
  return { type: 'success', pendingToolCallIds: awaited.map(({ toolCallId }) => toolCallId) };
}

/** Returns the names of the fields of a question that is a form. */
export function formFields(from: AskedApproval['from']): readonly string[] {
  const properties = from?.form?.schema['properties'];
  return isJsonObject(properties) ? Object.keys(properties) : [];
}

function interruptOf({ toolCallId, name, reason, from }: AskedApproval): object {
  const isCall = from === undefined;
  const what = isCall ? `The agent wants to call the tool ${name}` : `${name} needs an approval`;
  const asked = reason === undefined ? what : `${what}: ${reason}`;
  // The call of a sub-agent is not in the messages of this thread, so only the message can show its input.
  const { input } = from ?? {};
  const shown = input === undefined ? '' : `\n${name} ${JSON.stringify(input)}`;
  const edited = { editedArgs: { type: 'object', description: 'Replaces the input of the call' } };
  return {
    id: toolCallId,
    reason: isCall ? 'tool_call' : 'confirmation',
    message: `${asked}${shown}`,
    ...(isCall && { toolCallId }),
    responseSchema:
      formFields(from).length > 0
        ? from?.form?.schema
        : {
            type: 'object',
            properties: {
              approved: { type: 'boolean' },
              ...(isCall && edited),
              reason: { type: 'string' },
            },
            required: ['approved'],
          },
    metadata: { millrace: { name, ...(input !== undefined && { input }) } },
  };
}

/** Returns an entry of the usage. A count of zero is left out, because it can mean that it is unknown. */
export function usageEntry(
  model: { readonly provider?: string; readonly model?: string },
  { input, output, cacheRead, cacheWrite, reasoning }: Usage,
): object {
  return {
    ...model,
    ...{ inputTokens: input, outputTokens: output, totalTokens: input + output },
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
    ...(cacheRead > 0 && { cachedInputTokens: cacheRead }),
    ...(cacheWrite > 0 && { cacheWriteInputTokens: cacheWrite }),
  };
}
