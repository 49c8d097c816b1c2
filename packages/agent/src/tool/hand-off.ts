import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { Agent } from '../create-agent.ts';
import { AgentError } from '../errors/agent-error.ts';
import { checkFields } from './check-fields.ts';
import { type DefinedTool, defineTool } from './define-tool.ts';

export interface HandOffOptions {
  /** A function where the other one is made later, as when two hand to each other. */
  readonly to: Agent | (() => Agent);
  /** When to hand over, for the model. */
  readonly description: string;
  /** `transfer_to_` and the agent's name, unless told. */
  readonly name?: string | undefined;
}

interface Reason {
  readonly reason?: string | undefined;
}

/**
 * Another agent goes on with the session: its instructions, tools and model from the next turn on. It
 * keeps the log, the observers and the limits of the run.
 */
export function handOff(options: HandOffOptions): DefinedTool<string, Reason> {
  checkFields(options, { to: true, description: true, name: true });
  const { to, description } = options;
  const target = typeof to === 'function' ? to : () => to;
  const name = options.name ?? (typeof to === 'function' ? undefined : `transfer_to_${to.name}`);
  if (name === undefined) throw nameless();
  return defineTool({
    name,
    description,
    input: reasonSchema,
    replay: 'safe',
    handsOff: { to: target, reason: (input) => (input as Reason).reason },
    summarize: () => `hand over to ${target().name}`,
    execute: async () => `${target().name} goes on from here.`,
  });
}

const jsonSchema = {
  type: 'object',
  properties: { reason: { type: 'string', description: 'Why, in a few words' } },
} as const;

/** By hand, because this package asks for no schema library. */
const reasonSchema: StandardSchemaV1<Reason> & StandardJSONSchemaV1<Reason> = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate(value) {
      const { reason } = (value ?? {}) as Partial<Reason>;
      if (reason === undefined || typeof reason === 'string') return { value: { reason } };
      return { issues: [{ message: 'it is a text', path: ['reason'] }] };
    },
    jsonSchema: { input: () => ({ ...jsonSchema }), output: () => ({ ...jsonSchema }) },
  },
};

function nameless(): AgentError {
  const message = 'Cannot define a hand-off to an agent that is made later: say its name';
  return new AgentError('bad_option', message);
}
