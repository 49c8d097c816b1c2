import { AgentError } from '../contract/agent-error.ts';
import type { Tool } from '../contract/tool.ts';

/**
 * Returns the tools of an agent by name. A tool with `runsAnyName` is returned for all other names. Throws if two
 * tools have the same name, or answer the same built-in tool.
 */
export function toolsByName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const named = new Map<string, Tool>();
  const answering = new Map<string, string>();
  for (const { name, answers } of tools) {
    if (answers === undefined) continue;
    const other = answering.get(answers);
    if (other !== undefined) throw answeredTwice(answers, other, name);
    answering.set(answers, name);
  }
  for (const tool of tools) {
    if (named.has(tool.name)) throw toolNameTaken(tool.name);
    named.set(tool.name, tool);
  }
  const other = tools.find(({ runsAnyName }) => runsAnyName);
  // A class of its own would add more code to the bundle of each agent.
  if (other !== undefined) named.get = (name) => Map.prototype.get.call(named, name) ?? other;
  return named;
}

function answeredTwice(builtIn: string, first: string, second: string): AgentError {
  const message = `Cannot answer ${builtIn} with both ${first} and ${second}. Remove answers from one of them`;
  return new AgentError('bad_option', message, { tool: second, field: 'answers' });
}

function toolNameTaken(name: string): AgentError {
  const message = `Cannot use two tools with the name ${name}. Rename one`;
  return new AgentError('name_taken', message, { tool: name });
}
