import { type Agent, AgentError, type DefinedTool, defineTool, subAgent } from '@millrace/agent';
import { z } from 'zod';

/** An agent that work can be given to. */
export interface TaskAgent {
  readonly agent: Agent;
  /** What it is good at and what it has to work with, for the model that chooses. */
  readonly description: string;
}

export interface TaskToolOptions {
  /** By the names that the model calls them by: letters, digits, `_` and `-`. */
  readonly agents: Readonly<Record<string, TaskAgent>>;
  /** `task`, unless you say otherwise. */
  readonly name?: string | undefined;
  /** After so long an agent is stopped. As long as it takes, unless told. */
  readonly timeoutMs?: number | undefined;
}

/** What the model gives. */
export interface TaskInput {
  /** May be left out where there is one alone. */
  readonly agent?: string | undefined;
  readonly task: string;
}

const maxTaskLength = 100_000;
const maxSummaryLength = 200;

/**
 * Has another agent do a piece of work, in a session of its own that the execution names. What it says
 * is told as progress, its last words are the result, and it stops with whoever called it.
 *
 * @example
 * const task = taskTool({
 *   agents: { scout: { agent: scout, description: 'Finds out where things are. Changes nothing.' } },
 * });
 */
export function taskTool(options: TaskToolOptions): DefinedTool<string, TaskInput> {
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
    timeoutMs,
    summarize: ({ agent = first, task }) => summaryLine(agent, task),
    execute: ({ agent = first, task }, context) => {
      const worker = workers.get(agent);
      // The schema lets no other name through.
      if (worker === undefined) throw unknownAgentError(name, agent);
      return worker.execute({ task }, context);
    },
  });
}

function schemaOf(names: readonly [string, ...string[]]): z.ZodType<TaskInput, TaskInput> {
  const agent = z.enum(names).describe('Who is to do it');
  return z.object({
    agent: names.length === 1 ? agent.optional() : agent,
    task: z
      .string()
      .max(maxTaskLength)
      .refine((text) => text.trim() !== '', 'it is empty')
      .describe('What to do and what to report, with all that is needed to do it'),
  });
}

function describeAgents(agents: TaskToolOptions['agents']): string {
  const list = Object.entries(agents).map(([name, one]) => `- ${name}: ${one.description}`);
  return `Has another agent do a piece of work, and gives its report.
It knows nothing of this conversation and cannot ask back: the task has to say all. Tasks that do not need each other's results go into one turn, and are done at the same time.
Agents:
${list.join('\n')}`;
}

/** One line, by its beginning. */
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
  const message = `Cannot define tool ${tool}: there is no agent to give work to. Name one in agents`;
  return new AgentError('bad_option', message, { tool });
}
