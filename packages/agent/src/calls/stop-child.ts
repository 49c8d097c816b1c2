import type { Attempt, JsonValue, ToolCallPart } from '@millrace/core';
import { raceAbort } from '../abortable.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { CheckedToolCall, ToolContext } from '../contract/tool.ts';
import { createChildCall } from './child-call.ts';
import { toolContextOf } from './execution.ts';
import { prepareCall } from './prepare-call.ts';
import { stoppedEarly } from './run-tool.ts';

/**
 * Ends the sub-agent of a call whose caller was aborted. The sub-agent is parked, or its process died. The
 * function runs the tool with a signal that is already aborted. `changed` is the input that replaces the
 * model's input, if there is one.
 */
export async function stopChild(
  call: ToolCallPart,
  changed: JsonValue | undefined,
  context: RunContext,
  at: Attempt,
): Promise<void> {
  const { settings, journal } = context;
  const { execution } = journal.loop.turn?.calls.get(call.toolCallId) ?? {};
  const isRepeated = settings.tools.get(call.name)?.afterCrash === 'repeat';
  const waits = execution?.isParked || (execution?.isLost && isRepeated);
  if (!waits || execution === undefined) return;
  const ready = await prepareCall(call, settings.tools, changed);
  if (!ready.ok || !ready.tool.startsSession) return;
  const childCall = createChildCall(call, context, at);
  if (!childCall.isContinued) return;
  const signal = AbortSignal.abort(new Error(stoppedEarly.output.text));
  const toolContext = toolContextOf(ready, execution.id, childCall, context, at, () => {});
  const { clock, retry } = settings;
  const work = runToEnd(ready, { ...toolContext, signal });
  await raceAbort(work, signal, { clock, ms: retry.toolGraceMs });
}

/** Runs a tool with a signal that is already aborted. Its result or error is ignored. */
async function runToEnd({ tool, input }: CheckedToolCall, context: ToolContext): Promise<void> {
  try {
    const execution = tool.execute(input, context);
    if (Symbol.asyncIterator in execution) for await (const _text of execution);
    else await execution;
  } catch {
    // The caller is aborted in any case, so the error has no effect.
  }
}
