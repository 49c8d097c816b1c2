import type { Agent } from '../create-agent.ts';
import type { HandOff, Tool, ToolContext, ToolReturn } from '../tool/tool.ts';
import type { Scene } from './scene.ts';

/** The same tool to the model, of which nothing runs: it tells, and comes to, what it came to. */
export function replayedTool(tool: Tool, scene: Scene, cast: (agent: Agent) => Agent): Tool {
  const { handsOff } = tool;
  const to = handsOff && ({ ...handsOff, to: () => cast(handsOff.to()) } satisfies HandOff);
  return {
    ...tool,
    // Called as a method, it may want its tool.
    validate: (input) => tool.validate(input),
    summarize: (input) => tool.summarize(input),
    handsOff: to,
    timeoutMs: undefined,
    retries: Number.POSITIVE_INFINITY,
    maxOutputLength: Number.POSITIVE_INFINITY,
    execute: (_input, context) => performed(scene, context),
  };
}

async function performed(
  { recording, stage }: Scene,
  { executionId, update }: ToolContext,
): Promise<ToolReturn> {
  const { updates = [], after, result } = recording.executions.get(executionId) ?? {};
  for (const told of updates) {
    await stage.reached(told.after);
    update(told.text);
  }
  await stage.reached(after ?? Number.POSITIVE_INFINITY);
  if (result === undefined) throw new Error('It failed, and was tried again');
  const { text, value, isError, attachments, metadata } = result;
  return { output: { text, value, isError, attachments, metadata } };
}
