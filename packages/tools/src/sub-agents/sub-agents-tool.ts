import {
  type Agent,
  AgentError,
  type DefinedTool,
  defineTool,
  subAgent,
  type ToolContext,
  type ToolExecution,
  type ToolOutput,
  type ToolReturn,
} from '@millrace/agent';
import { z } from 'zod';
import { assertKnownOptions } from '../known-options.ts';

/** An agent to which the model can give tasks. */
export interface OfferedAgent {
  readonly agent: Agent;
  /** A text that tells the model what the agent can do. */
  readonly description: string;
  /**
   * Creates the agent for one call, with files of its own, for example in a git worktree. Default: `agent`
   * does all tasks.
   */
  readonly isolate?: ((context: ToolContext) => Promise<IsolatedAgent>) | undefined;
  /**
   * `always`: each task of the agent uses `isolate`. `on_request`: the model decides with the input
   * `isolation`. Default: `on_request`.
   */
  readonly isolation?: 'always' | 'on_request' | undefined;
}

/** An agent for one call. */
export interface IsolatedAgent {
  readonly agent: Agent;
  /**
   * Called when the agent has reported. `isDone` is false if it stopped before it finished. Returns a text
   * that is added to the report.
   */
  end(isDone: boolean): Promise<string | undefined>;
  /** Called after `end`, and if the call ends without a report. */
  close(): Promise<void>;
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
  /** `worktree`: the agent works on files of its own. Its changes are merged when it has finished. */
  readonly isolation?: 'worktree' | undefined;
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
    Object.entries(agents).map(([called, { agent, description }]) => [
      called,
      subAgent({ name: called, agent, description }),
    ]),
  );
  const canIsolate = Object.values(agents).some(({ isolate }) => isolate !== undefined);
  const [first, ...others] = workers.keys();
  if (first === undefined) throw noAgentError(name);
  return defineTool({
    name,
    description: describeAgents(agents),
    input: schemaOf([first, ...others], canIsolate),
    startsSession: true,
    // A repeated execution is safe, because the sub-agent finds its session and continues it.
    afterCrash: 'repeat',
    timeoutMs,
    summarize: ({ agent = first, task }) => summaryLine(agent, task),
    execute: ({ agent = first, task, isolation }, context) => {
      const worker = workers.get(agent);
      // The schema accepts only known names, so this error does not occur.
      if (worker === undefined) throw unknownAgentError(name, agent);
      const { isolate, isolation: when } = agents[agent] ?? {};
      if (isolate === undefined || (when !== 'always' && isolation === undefined))
        return worker.execute({ task }, context);
      return runIsolated({ name: agent, task, isolate }, context);
    },
  });
}

interface IsolatedTask {
  readonly name: string;
  readonly task: string;
  readonly isolate: NonNullable<OfferedAgent['isolate']>;
}

async function* runIsolated(
  { name, task, isolate }: IsolatedTask,
  context: ToolContext,
): AsyncGenerator<string, ToolReturn> {
  const opened = await isolate(context);
  try {
    const worker = subAgent({ name, description: name, agent: opened.agent });
    const answer = yield* progressOf(worker.execute({ task }, context));
    const output = outputOf(answer);
    const more = await opened.end(output.isError !== true);
    const text = [output.text, ...(more === undefined ? [] : [more])].join('\n\n');
    return { output: { ...output, text } };
  } finally {
    await opened.close();
  }
}

async function* progressOf(execution: ToolExecution): AsyncGenerator<string, ToolReturn> {
  return Symbol.asyncIterator in execution ? yield* execution : await execution;
}

function outputOf(answer: ToolReturn): ToolOutput['output'] {
  const hasOutput = typeof answer === 'object' && answer !== null && 'output' in answer;
  return hasOutput ? (answer as ToolOutput).output : { text: String(answer ?? '') };
}

function schemaOf(
  names: readonly [string, ...string[]],
  canIsolate: boolean,
): z.ZodType<SubAgentsInput, SubAgentsInput> {
  const agent = z.enum(names);
  const input = z.object({
    agent: names.length === 1 ? agent.optional() : agent,
    task: z
      .string()
      .max(maxTaskLength)
      .refine((text) => text.trim() !== '', 'it is empty'),
  });
  if (!canIsolate) return input;
  return input.extend({
    isolation: z
      .enum(['worktree'])
      .optional()
      .describe('Work in a separate git worktree. Changes are merged at the end.'),
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
