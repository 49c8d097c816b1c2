import { type AgentOptions, createAgent, type Tool } from '@millrace/agent';
import { taskTool } from '@millrace/tools';

export interface SubAgentsOptions {
  /** All that they have in common with who calls them. */
  readonly common: Omit<AgentOptions, 'tools' | 'instructions' | 'name'>;
  readonly instructions: string;
  readonly reading: readonly Tool[];
  /** None where nothing may be changed. */
  readonly changing: readonly Tool[];
}

const report = `You were given one task by another agent. It knows nothing of what you do but your last words, and nobody answers questions: end with a report that says what was asked for, with places as path:line, and what you could not find out or do.`;

/** A tool that has other agents do work: one that looks, and one that has all tools. */
export function subAgentsTool(options: SubAgentsOptions): Tool {
  const { common, reading, changing } = options;
  const instructions = `${options.instructions}\n\n${report}`;
  const explore = createAgent({ ...common, name: 'explore', tools: reading, instructions });
  const agents = {
    explore: {
      agent: explore,
      description: 'Finds things out by reading and searching files. Changes nothing.',
    },
  };
  if (changing.length === 0) return taskTool({ agents });
  const tools = [...reading, ...changing];
  const worker = createAgent({ ...common, name: 'worker', tools, instructions });
  const description = 'Does a piece of work by itself: reads, changes files, runs commands.';
  return taskTool({ agents: { ...agents, worker: { agent: worker, description } } });
}
