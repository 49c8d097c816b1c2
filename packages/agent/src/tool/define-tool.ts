import type { JsonObject, JsonValue } from '@millrace/core';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { AgentError } from '../errors/agent-error.ts';
import type { Execution, Tool, ToolContext, Validated } from './tool.ts';

/** Any Standard Schema: Zod, Valibot, ArkType … */
type Schema = StandardSchemaV1;

export interface ToolOptions<Input extends Schema> {
  /** Letters, digits, `_` and `-`, at most 64 of them: what all providers take. */
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  /** JSON Schema of the input, where the schema library cannot say it by itself. */
  readonly inputSchema?: JsonObject | undefined;
  readonly effects?: Tool['effects'] | undefined;
  readonly replay?: Tool['replay'] | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxOutputLength?: number | undefined;
  readonly retries?: number | undefined;
  readonly startsSession?: boolean | undefined;
  readonly summarize?: ((input: StandardSchemaV1.InferOutput<Input>) => string) | undefined;
  execute(input: StandardSchemaV1.InferOutput<Input>, context: ToolContext): Execution;
}

/** A tool that knows the type of its input, for whoever handles its events. */
export interface DefinedTool<Name extends string, Input> extends Tool {
  readonly name: Name;
  /** For types alone. */
  readonly '~input'?: Input;
}

const defaultOutputLength = 30_000;
const nameForm = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * @example
 * const now = defineTool({
 *   name: 'now',
 *   description: 'The present time',
 *   input: z.object({}),
 *   effects: 'none',
 *   execute: async () => new Date().toISOString(),
 * });
 */
export function defineTool<const Name extends string, Input extends Schema>(
  options: ToolOptions<Input> & { readonly name: Name },
): DefinedTool<Name, StandardSchemaV1.InferOutput<Input>> {
  const { name, description, input, execute, summarize } = options;
  if (!nameForm.test(name)) throw badName(name);
  return {
    name,
    description,
    inputSchema: options.inputSchema ?? jsonSchemaOf(name, input),
    effects: options.effects ?? 'external',
    replay: options.replay ?? 'never',
    timeoutMs: options.timeoutMs,
    maxOutputLength: options.maxOutputLength ?? defaultOutputLength,
    retries: options.retries ?? 0,
    startsSession: options.startsSession ?? false,
    summarize: (given) => summarize?.(given as never) ?? name,
    validate: (given) => validate(input, given),
    execute: (given, context) => execute(given as never, context),
  };
}

async function validate(schema: Schema, input: JsonValue): Promise<Validated> {
  const { issues, value } = (await schema['~standard'].validate(input)) as {
    readonly issues?: readonly StandardSchemaV1.Issue[];
    readonly value?: unknown;
  };
  if (issues === undefined) return { ok: true, value };
  return { ok: false, problem: issues.map(asLine).join('\n') };
}

function asLine({ message, path = [] }: StandardSchemaV1.Issue): string {
  const keys = path.map((key) => String(typeof key === 'object' ? key.key : key));
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
}

function jsonSchemaOf(name: string, schema: Schema): JsonObject {
  const { jsonSchema } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>;
  if (jsonSchema === undefined) throw noSchema(name);
  const { $schema: _dialect, ...rest } = jsonSchema.input({ target: 'draft-2020-12' });
  return rest as JsonObject;
}

function badName(name: string): AgentError {
  const message = `Cannot define a tool ${JSON.stringify(name)}: its name has 1 to 64 letters, digits, _ or -`;
  return new AgentError('bad_option', message, { tool: name });
}

function noSchema(name: string): AgentError {
  const message = `Cannot define tool ${name}: its schema library does not give JSON Schema. Say it with inputSchema`;
  return new AgentError('bad_option', message, { tool: name });
}
