import { type PartId, parseJson } from '@millrace/core';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { Agent } from '../contract/agent.ts';
import { AgentError, textOfError } from '../contract/agent-error.ts';
import type { ToolOutput } from '../contract/tool.ts';
import { assertKnownFields, type DefinedTool, defineTool } from './define-tool.ts';

/** Options of `subAgent`. */
export interface SubAgentOptions<Name extends string> {
  /** The name of the tool. */
  readonly name: Name;
  /** The text that explains to the model when to call the agent. */
  readonly description: string;
  /** The agent to run. */
  readonly agent: Agent;
  /** The run stops the sub-agent after this time. Default: no timeout. */
  readonly timeoutMs?: number | undefined;
}

interface Task {
  readonly task: string;
}

/**
 * Creates a tool that runs a different agent in a separate session. The tool reports the sub-agent's streamed
 * text as progress. The result is the sub-agent's last answer, or its value if it has an `output` schema.
 *
 * The sub-agent stops when the caller stops, and after a crash it continues with the caller. It gets the
 * caller's `context`. Its questions are events of the caller, and its usage counts toward the caller's
 * limits.
 */
export function subAgent<const Name extends string>(
  options: SubAgentOptions<Name>,
): DefinedTool<Name, Task> {
  assertKnownFields(options, { name: true, description: true, agent: true, timeoutMs: true });
  const { name, description, agent, timeoutMs } = options;
  return defineTool({
    name,
    description,
    input: taskSchema,
    startsSession: true,
    // Running the tool again is safe, because the sub-agent's run finds its session and continues it.
    afterCrash: 'repeat',
    timeoutMs,
    summarize: ({ task }) => `${name}: ${task}`,
    async *execute({ task }, { child, signal, trace, observers, context, asParent: parent }) {
      const run = agent.run(task, { session: child, signal, trace, observers, context, parent });
      let partId: PartId | undefined;
      for await (const event of run.events) {
        if (event.type !== 'assistant_text_delta') continue;
        // An empty line separates texts between which the sub-agent called tools.
        if (partId !== undefined && partId !== event.partId) yield '\n\n';
        partId = event.partId;
        yield event.text;
      }
      const { text, value, stop, error } = await run.result;
      if (stop.reason === 'stop') return value === undefined ? text : structuredOutput(value);
      const message = signal.aborted ? textOfError(signal.reason) : error?.message;
      const why = message ?? [stop.reason, stop.cause].filter(Boolean).join(', ');
      return { output: { text: unfinishedText(why, text), isError: true } };
    },
  });
}

/** Returns the result text if the sub-agent did not complete its answer. */
function unfinishedText(why: string, text: string): string {
  const answer = text === '' ? 'It has written no answer.' : `Its answer so far: ${text}`;
  return `The agent stopped before it finished (${why}). ${answer}`;
}

/**
 * Returns the value of an agent with an `output` schema, and the same value as text for the caller's
 * model.
 */
function structuredOutput(value: unknown): ToolOutput {
  const text: string | undefined = JSON.stringify(value);
  const parsed = parseJson(text ?? 'null');
  return { output: { text: text ?? 'null', ...(parsed.ok && { value: parsed.value }) } };
}

const taskJsonSchema = {
  type: 'object',
  properties: {
    task: { type: 'string', description: 'What to do, with all that is needed to do it' },
  },
  required: ['task'],
} as const;

/** The schema of the task. It is handwritten, because this package depends on no schema library. */
const taskSchema: StandardSchemaV1<Task> & StandardJSONSchemaV1<Task> = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate(value) {
      const { task } = (value ?? {}) as Partial<Task>;
      if (typeof task === 'string' && task.trim() !== '') return { value: { task } };
      return { issues: [{ message: 'it is a text', path: ['task'] }] };
    },
    jsonSchema: { input: () => ({ ...taskJsonSchema }), output: () => ({ ...taskJsonSchema }) },
  },
};

/** Options of `handOff`. */
export interface HandOffOptions {
  /**
   * The agent that takes over. Pass a function if the agent is created later, for example if two agents hand
   * off to each other.
   */
  readonly to: Agent | (() => Agent);
  /** The text that explains to the model when to hand off. */
  readonly description: string;
  /** The name of the tool. Default: `transfer_to_` followed by the agent's name. */
  readonly name?: string | undefined;
}

interface Reason {
  readonly reason?: string | undefined;
}

/**
 * Creates a tool that hands the session to a different agent. From the next turn on, the instructions, tools
 * and model of that agent apply. The log, the observers and the limits of the run stay the same.
 */
export function handOff(options: HandOffOptions): DefinedTool<string, Reason> {
  assertKnownFields(options, { to: true, description: true, name: true });
  const { to, description } = options;
  const target = typeof to === 'function' ? to : () => to;
  const name = options.name ?? (typeof to === 'function' ? undefined : `transfer_to_${to.name}`);
  if (name === undefined) throw nameless();
  return defineTool({
    name,
    description,
    input: reasonSchema,
    afterCrash: 'repeat',
    handsOff: { to: target, reason: (input) => (input as Reason).reason },
    summarize: () => `hand over to ${target().name}`,
    execute: async () => `${target().name} goes on from here.`,
  });
}

const reasonJsonSchema = {
  type: 'object',
  properties: { reason: { type: 'string', description: 'Why, in a few words' } },
} as const;

/** The schema of the reason. It is handwritten, because this package depends on no schema library. */
const reasonSchema: StandardSchemaV1<Reason> & StandardJSONSchemaV1<Reason> = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate(value) {
      const { reason } = (value ?? {}) as Partial<Reason>;
      if (reason === undefined || typeof reason === 'string') return { value: { reason } };
      return { issues: [{ message: 'it is a text', path: ['reason'] }] };
    },
    jsonSchema: { input: () => ({ ...reasonJsonSchema }), output: () => ({ ...reasonJsonSchema }) },
  },
};

function nameless(): AgentError {
  const message = 'Cannot define a hand-off to an agent that is created later: pass a name';
  return new AgentError('bad_option', message);
}
