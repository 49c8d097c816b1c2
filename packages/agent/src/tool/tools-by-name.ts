import { AgentError } from '../contract/agent-error.ts';
import type { Tool } from '../contract/tool.ts';

/** Returns the tools of an agent by name. Refuses two tools with the same name, or for the same built-in tool. */
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
  return other === undefined ? named : new NamesOrOther(named, other);
}

/** The tools of an agent, with a tool for all other names. */
class NamesOrOther extends Map<string, Tool> {
  readonly #other: Tool;

  constructor(named: ReadonlyMap<string, Tool>, other: Tool) {
    super(named);
    this.#other = other;
  }

  override get(name: string): Tool {
    return super.get(name) ?? this.#other;
  }
}

function answeredTwice(builtIn: string, first: string, second: string): AgentError {
  const message = `Cannot answer ${builtIn} with both ${first} and ${second}. Remove answers from one of them`;
  return new AgentError('bad_option', message, { tool: second, field: 'answers' });
}

function toolNameTaken(name: string): AgentError {
  const message = `Cannot use two tools with the name ${name}. Rename one`;
  return new AgentError('name_taken', message, { tool: name });
}
