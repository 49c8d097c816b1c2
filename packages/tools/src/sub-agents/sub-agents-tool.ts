import { type Agent, AgentError, type DefinedTool, defineTool, subAgent } from '@millrace/agent';
import { z } from 'zod';
import { assertKnownOptions } from '../known-options.ts';

/** An agent to which the model can give tasks. */
export interface OfferedAgent {
  readonly agent: Agent;
  /** A text that tells the model what the agent can do. */
  readonly description: string;
}

/** Options of `subAgentsTool`. */
export interface SubAgentsToolOptions {
  /** The agents, by name. A name consists of letters, digits, `_` and `-`. */
  readonly agents: Readonly<Record<string, OfferedAgent>>;
  /** Name of the tool. Default: `task`. */
  readonly name?: string | undefined;
  /** Time limit for a task. Default: none. */
  readonly timeoutMs?: number | undefined;
}

/** The input that the model sends. */
export interface SubAgentsInput {
  /** The name of the agent. It is optional if there is only one agent. */
  readonly agent?: string | undefined;
  readonly task: string;
}

const maxTaskLength = 100_000;
const maxSummaryLength = 200;

/**
 * Creates a tool that gives a task to a sub-agent. The sub-agent runs in its own session. Its text is
 * reported as progress, and its last message is the result. It stops together with its caller.
 *
 * @example
 * ```ts
 * const description = 'Finds files and explains them. Changes nothing.';
 * const task = subAgentsTool({ agents: { scout: { agent: scout, description } } });
 * ```
 */
export function subAgentsTool(options: SubAgentsToolOptions): DefinedTool<string, SubAgentsInput> {
  assertKnownOptions('subAgentsTool', options, { agents: true, name: true, timeoutMs: true });
  const { agents, name = 'task', timeoutMs } = options;
  const workers = new Map(
    Object.entries(agents).map(([called, one]) => [called, subAgent({ name: called, ...one })]),
  );
  const [first, ...others] = workers.keys();
  if (first === undefined) throw noAgentError(name);
  return defineTool({
    name,
    description: describeAgents(agents),
    input: schemaOf([first, ...others]),
    startsSession: true,
    // A repeated execution is safe, because the sub-agent finds its session and continues it.
    afterCrash: 'repeat',
    timeoutMs,
    summarize: ({ agent = first, task }) => summaryLine(agent, task),
    execute: ({ agent = first, task }, context) => {
      const worker = workers.get(agent);
      // The schema accepts only known names, so this error does not occur.
      if (worker === undefined) throw unknownAgentError(name, agent);
      return worker.execute({ task }, context);
    },
  });
}

function schemaOf(
  names: readonly [string, ...string[]],
): z.ZodType<SubAgentsInput, SubAgentsInput> {
  const agent = z.enum(names);
  return z.object({
    agent: names.length === 1 ? agent.optional() : agent,
    task: z
      .string()
      .max(maxTaskLength)
      .refine((text) => text.trim() !== '', 'it is empty'),
  });
}

function describeAgents(agents: SubAgentsToolOptions['agents']): string {
  const list = Object.entries(agents).map(([name, one]) => `- ${name}: ${one.description}`);
  return `Gives a task to another agent and returns its report.
The agent does not see this conversation and cannot ask questions, so the task must contain all information, and what to report. Put independent tasks into one turn: they run at the same time.
Agents:
${list.join('\n')}`;
}

/** Returns the name of the agent and the first line of the task. A long line is shortened. */
function summaryLine(agent: string, task: string): string {
  const [line = ''] = task.trim().split('\n');
  const isShort = line.length <= maxSummaryLength;
  return `${agent}: ${isShort ? line : `${line.slice(0, maxSummaryLength).toWellFormed()}…`}`;
}

function unknownAgentError(tool: string, agent: string): AgentError {
  const message = `Cannot give ${tool} to ${agent}: there is no such agent`;
  return new AgentError('bad_option', message, { tool });
}

function noAgentError(tool: string): AgentError {
  const message = `Cannot define tool ${tool}: it has no agents. Add at least one to agents`;
  return new AgentError('bad_option', message, { tool });
}
