import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { Agent } from '../create-agent.ts';
import { textOfError } from '../errors/text-of-error.ts';
import { checkFields } from './check-fields.ts';
import { type DefinedTool, defineTool } from './define-tool.ts';

export interface SubAgentOptions<Name extends string> {
  readonly name: Name;
  readonly description: string;
  readonly agent: Agent;
  readonly timeoutMs?: number | undefined;
}

interface Task {
  readonly task: string;
}

/**
 * Another agent as a tool. It works in a session of its own, which the execution names; what it says
 * is told as progress, its last words are the result, and it stops with whoever called it.
 */
export function subAgent<const Name extends string>(
  options: SubAgentOptions<Name>,
): DefinedTool<Name, Task> {
  checkFields(options, { name: true, description: true, agent: true, timeoutMs: true });
  const { name, description, agent, timeoutMs } = options;
  return defineTool({
    name,
    description,
    input: taskSchema,
    startsSession: true,
    timeoutMs,
    summarize: ({ task }) => `${name}: ${task}`,
    async *execute({ task }, { child, signal, trace, observers }) {
      const run = agent.run(task, { session: child, signal, trace, observers });
      for await (const event of run.events)
        if (event.type === 'assistant_text_delta') yield event.text;
      const { text, stop, error } = await run.result;
      if (stop.reason === 'stop') return text;
      const told = signal.aborted ? textOfError(signal.reason) : error?.message;
      const why = told ?? stop.cause ?? stop.reason;
      return { output: { text: `It did not come to an end (${why}). ${text}`, isError: true } };
    },
  });
}

const jsonSchema = {
  type: 'object',
  properties: {
    task: { type: 'string', description: 'What to do, with all that is needed to do it' },
  },
  required: ['task'],
} as const;

/** By hand, because this package asks for no schema library. */
const taskSchema: StandardSchemaV1<Task> & StandardJSONSchemaV1<Task> = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate(value) {
      const { task } = (value ?? {}) as Partial<Task>;
      if (typeof task === 'string' && task.trim() !== '') return { value: { task } };
      return { issues: [{ message: 'it is a text', path: ['task'] }] };
    },
    jsonSchema: { input: () => ({ ...jsonSchema }), output: () => ({ ...jsonSchema }) },
  },
};
