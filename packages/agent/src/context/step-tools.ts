import { AgentError } from '../contract/agent-error.ts';
import type { StepSource } from '../contract/run-context.ts';
import type { Settings } from '../contract/settings.ts';
import type { Tool } from '../contract/tool.ts';
import { contextItems } from './build-request.ts';

/**
 * Returns all tools of an agent in a turn, by name: its fixed tools, and the tools that its functions return.
 */
export async function resolveTools(
  active: Settings,
  turn: number,
  { journal, context, session }: StepSource,
): Promise<Settings['tools']> {
  const { state, loop } = journal;
  const items = await contextItems(active, state, loop);
  const step = { context, session, turn, step: loop.run?.finishedTurns ?? 0, items };
  const tools = new Map(active.tools);
  for (const toolsOf of active.stepTools)
    for (const tool of readTools(await toolsOf(step))) {
      if (tools.has(tool.name)) throw nameTaken(tool.name);
      if (tool.handsOff !== undefined) throw handOffInStep(tool.name);
      tools.set(tool.name, tool);
    }
  return tools;
}

/**
 * Validates the return value of a function that returns tools. The function is user code and may return any
 * value.
 */
function readTools(returned: unknown): readonly Tool[] {
  const isTool = (tool: Partial<Tool> | null) =>
    typeof tool?.name === 'string' && typeof tool.validate === 'function';
  if (Array.isArray(returned) && returned.every(isTool)) return returned as readonly Tool[];
  const message =
    'Cannot use a function among the tools of createAgent: it must return a list of tools';
  throw new AgentError('bad_option', message, { of: 'createAgent', option: 'tools' });
}

function nameTaken(name: string): AgentError {
  const message = `Cannot use two tools with the name ${name} in one step. Rename one`;
  return new AgentError('name_taken', message, { tool: name });
}

function handOffInStep(name: string): AgentError {
  const message = `Cannot use the hand-off ${name} from a function among the tools: the agents of a session must be known before it is opened. Put it into the list of tools itself`;
  return new AgentError('bad_option', message, { tool: name });
}
