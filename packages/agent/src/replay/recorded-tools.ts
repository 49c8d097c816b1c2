import {
  emptyState,
  foldBatch,
  type JsonValue,
  type LogRecord,
  type SessionId,
  transcript,
} from '@millrace/core';
import type { Tool } from '../contract/tool.ts';

/**
 * Returns the tools that requests offered but that are not in the agent's list. During the run, functions
 * returned these tools. A replay does not call these functions, so the tools are built from the recording.
 */
export function recordedTools(
  session: SessionId,
  records: readonly LogRecord[],
  known: ReadonlySet<string>,
  execute: Tool['execute'],
): readonly Tool[] {
  const names = new Set(
    records.flatMap(({ fact }) => (fact?.type === 'response_started' ? (fact.tools ?? []) : [])),
  );
  const inputs = inputsOf(session, records);
  return [...names]
    .filter((name) => !known.has(name))
    .flatMap((name) => recordedTool(name, records, inputs, execute) ?? []);
}

/**
 * Builds a tool from its records. Returns undefined if the tool was no longer available at any of its calls.
 */
function recordedTool(
  name: string,
  records: readonly LogRecord[],
  inputs: ReadonlyMap<string, JsonValue | undefined>,
  execute: Tool['execute'],
): Tool | undefined {
  const summaries = new Map<string, string>();
  const problems = new Map<string, string>();
  const starts = new Map<string, number>();
  let [startsSession, isClient, isEarly, isGone] = [false, false, false, false];
  let isFinished = true;
  for (const { fact } of records) {
    if (fact?.type === 'response_started') isFinished = false;
    if (fact?.type === 'response_finished') isFinished = true;
    if (fact === undefined || !('toolCallId' in fact) || fact.name !== name) continue;
    const json = JSON.stringify(inputs.get(fact.toolCallId ?? ''));
    switch (fact.type) {
      case 'tool_execution_started':
        summaries.set(json, fact.summary);
        starts.set(fact.toolCallId, (starts.get(fact.toolCallId) ?? 0) + 1);
        startsSession ||= fact.child !== undefined;
        isEarly ||= !isFinished;
        break;
      case 'tool_call_rejected':
        if (fact.code === 'invalid') problems.set(json, fact.message.replace(problemPrefix, ''));
        isGone ||= fact.code === 'unknown';
        break;
      case 'tool_output_asked':
        isClient = true;
        break;
      default:
    }
  }
  if (isGone && starts.size === 0) return undefined;
  return {
    ...{ name, description: '', inputSchema: {}, startsSession, execute },
    effects: isEarly ? 'none' : 'external',
    afterCrash: [...starts.values()].some((count) => count > 1) ? 'repeat' : 'fail',
    ...{ timeoutMs: undefined, maxOutputLength: Number.POSITIVE_INFINITY },
    retries: Number.POSITIVE_INFINITY,
    client: isClient ? { validate: async (value) => ({ ok: true, value }) } : undefined,
    summarize: (input) => summaries.get(JSON.stringify(input)) ?? name,
    validate: async (input) => {
      const problem = problems.get(JSON.stringify(input));
      return problem === undefined ? { ok: true, value: input } : { ok: false, problem };
    },
  };
}

const problemPrefix = /^The arguments do not fit:\n/;

/** Returns the inputs of all calls, by call id. */
function inputsOf(
  session: SessionId,
  records: readonly LogRecord[],
): ReadonlyMap<string, JsonValue | undefined> {
  const through = records.at(-1)?.offset ?? 0;
  const { state } = foldBatch(emptyState(session), { after: 0, through, records });
  const parts = transcript(state).flatMap((item) => item.parts);
  return new Map(
    parts.flatMap((part) =>
      part.kind === 'tool_call' ? [[part.toolCallId, part.input] as const] : [],
    ),
  );
}
