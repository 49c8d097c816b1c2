import {
  type AgentEvent,
  findUnknownOption,
  type JsonObject,
  type OptionNames,
  type UnknownOption,
} from '@millrace/core';
import type { BuiltInTool } from '@millrace/providers';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { AgentError } from '../contract/agent-error.ts';
import type { Tool, ToolContext, ToolExecution, ToolOutput, ToolReturn } from '../contract/tool.ts';
import type { ToolCallEvent, ToolResultEvent } from '../contract/typed-tools.ts';
import { jsonSchemaOf, validateWithSchema } from './schema.ts';

/** A schema from any library that implements Standard Schema, such as Zod, Valibot or ArkType. */
type Schema = StandardSchemaV1;

/** Options of `defineTool`. */
export interface ToolOptions<Input extends Schema, Return = ToolReturn, Context = unknown> {
  /**
   * The name of the tool. It has 1 to 64 letters, digits, `_` or `-`, because all providers accept such
   * names.
   */
  readonly name: string;
  /** The text that explains to the model what the tool does and when to use it. */
  readonly description: string;
  /** The schema of the input, from any library that implements Standard Schema. */
  readonly input: Input;
  /** JSON Schema of the input. Required if the schema library cannot produce it. */
  readonly inputSchema?: JsonObject | undefined;
  /**
   * The effects of the tool. `none`: the tool changes nothing. `external`: the tool may change something. A
   * tool with `none` may start while the response still streams. Default: `external`.
   */
  readonly effects?: Tool['effects'] | undefined;
  /**
   * The rule for a call whose process dies while the tool runs. `repeat` runs the tool again. Use it only if
   * running the tool twice is harmless. `fail` ends the call with an error, and the model gets the text that
   * the outcome is unknown. Default: `fail`.
   */
  readonly afterCrash?: Tool['afterCrash'] | undefined;
  /** The time after which the run stops the tool. Default: no timeout. */
  readonly timeoutMs?: number | undefined;
  /** Maximum length of the text for the model, in characters. Default: 30,000. */
  readonly maxOutputLength?: number | undefined;
  /** Maximum number of retries after the tool throws. Default: 0. */
  readonly retries?: number | undefined;
  /** True if the tool runs a sub-agent in a separate session. Default: false. */
  readonly startsSession?: boolean | undefined;
  /**
   * Set if the tool hands the session off to a different agent. That agent takes over after the turn.
   * Default: none.
   */
  readonly handsOff?: Tool['handsOff'];
  /**
   * Asks the provider to enforce the schema on the model's arguments. Default: the provider's own
   * default.
   */
  readonly strict?: boolean | undefined;
  /**
   * The built-in tool of a provider whose calls this tool answers, for example `openai.shell`. Requests to
   * that provider declare the built-in tool. Requests to other providers declare this tool. `BuiltInTool`
   * documents the input. Default: none.
   */
  readonly answers?: Tool['answers'];
  /** Additional fields of the tool's definition in requests, by provider. Default: none. */
  readonly providerOptions?: Tool['providerOptions'];
  /** Returns one line for the user that describes what the call does. Default: the tool's name. */
  readonly summarize?: ((input: StandardSchemaV1.InferOutput<Input>) => string) | undefined;
  /**
   * Runs the tool. To declare the type of the run's context, annotate the second parameter:
   * `ToolContext<Desk>`. `defineTool` checks the return type.
   *
   * The second type in the union makes the compiler keep literal types in an output, such as the kind of
   * an attachment.
   */
  execute(
    input: StandardSchemaV1.InferOutput<Input>,
    context: ToolContext<Context>,
  ): ToolExecution<Return> | ToolExecution<ToolOutput | NonNullable<unknown> | null | undefined>;
}

/**
 * A tool with a typed input and output. `Input` is the type that the model writes, and `Parsed` is the type
 * that the schema returns. `Value` is the type of the result's value for programs. `Context` is the type of
 * the run context that the tool needs.
 */
export interface DefinedTool<
  Name extends string,
  Input,
  Parsed = Input,
  Value = unknown,
  Context = unknown,
> extends Tool {
  readonly name: Name;
  readonly '~types'?: {
    readonly input: Input;
    readonly parsed: Parsed;
    readonly output: Value;
    readonly context: Context;
  };
  /**
   * Returns true if the event is a call of this tool with valid input. In this case, the type of
   * `event.input` is narrowed.
   */
  isCall(event: AgentEvent): event is ToolCallEvent<Name, Input>;
  /**
   * Returns true if the event is a result of this tool without an error. In this case, the type of
   * `event.part.value` is narrowed.
   */
  isResult(event: AgentEvent): event is ToolResultEvent<Name, Value>;
}

/**
 * A type check that rejects a return type that is not JSON. `unknown` is allowed, because the compiler
 * infers it for `new Promise((resolve) => …)`.
 */
type ReturnCheck<Return> = unknown extends Return
  ? unknown
  : [Return] extends [ToolReturn]
    ? unknown
    : { readonly execute: (...given: never) => ToolExecution };

/** The type of a result's value for programs, computed from the return type of `execute`. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is a tool too
export type ValueOfReturn<Return> = Return extends string | undefined | void
  ? undefined
  : Return extends ToolOutput
    ? Return['output'] extends { readonly value: infer Value }
      ? Value
      : Return['output']['value']
    : Return;

const optionNames = {
  name: true,
  description: true,
  input: true,
  inputSchema: true,
  effects: true,
  afterCrash: true,
  timeoutMs: true,
  maxOutputLength: true,
  retries: true,
  startsSession: true,
  handsOff: true,
  strict: true,
  answers: true,
  providerOptions: true,
  summarize: true,
  execute: true,
} as const;
const builtInTools: Readonly<Record<BuiltInTool, true>> = {
  'openai.shell': true,
  'openai.local_shell': true,
  'openai.apply_patch': true,
  'openai.computer': true,
  'openai.tool_search': true,
  'openai.mcp_approval': true,
};
const choices: Readonly<Record<'effects' | 'afterCrash', readonly unknown[]>> = {
  effects: ['external', 'none'],
  afterCrash: ['fail', 'repeat'],
};
const defaultOutputLength = 30_000;
const nameForm = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Defines a tool. Throws `bad_option` if a name, a number or a field is invalid.
 *
 * @example
 * ```ts
 * const now = defineTool({
 *   name: 'now',
 *   description: 'The present time',
 *   input: z.object({}),
 *   effects: 'none',
 *   execute: async () => new Date().toISOString(),
 * });
 * ```
 */
export function defineTool<
  const Name extends string,
  Input extends Schema,
  Return = ToolReturn,
  Context = unknown,
>(
  options: ToolOptions<Input, Return, Context> & { readonly name: Name } & ReturnCheck<Return>,
): DefinedTool<
  Name,
  StandardSchemaV1.InferInput<Input>,
  StandardSchemaV1.InferOutput<Input>,
  ValueOfReturn<Return>,
  Context
> {
  const { name, description, input, execute, summarize } = options;
  if (!nameForm.test(name)) throw badName(name);
  assertKnownFields<ToolOptions<Input, Return, Context>>(options, optionNames);
  const { answers } = options;
  if (answers !== undefined && !Object.hasOwn(builtInTools, answers))
    throw badBuiltIn(name, answers);
  for (const key of ['effects', 'afterCrash'] as const)
    if (!(options[key] === undefined || choices[key].includes(options[key])))
      throw badChoice(name, key, options[key]);
  for (const key of ['timeoutMs', 'maxOutputLength', 'retries'] as const)
    if (!((options[key] ?? 1) >= 0)) throw badNumber(name, key, options[key]);
  return {
    name,
    description,
    inputSchema: options.inputSchema ?? schemaOf(name, input),
    effects: options.effects ?? 'external',
    afterCrash: options.afterCrash ?? 'fail',
    timeoutMs: options.timeoutMs,
    maxOutputLength: options.maxOutputLength ?? defaultOutputLength,
    retries: options.retries ?? 0,
    startsSession: options.startsSession ?? false,
    handsOff: options.handsOff,
    ...(options.strict !== undefined && { strict: options.strict }),
    ...(options.answers !== undefined && { answers: options.answers }),
    ...(options.providerOptions !== undefined && { providerOptions: options.providerOptions }),
    summarize: (given) => summarize?.(given as never) ?? name,
    validate: (given) => validateWithSchema(input, given),
    isCall: (event): event is never => isCall(name, input, event),
    isResult: (event): event is never => isResult(name, event),
    // The compiler has already checked the return type of `execute`.
    execute: (given, context) => execute(given as never, context as never) as ToolExecution,
  };
}

/**
 * Returns true if the event is a call of this tool with valid input. Returns false for an async schema,
 * because this check is synchronous.
 */
function isCall(name: string, schema: Schema, event: AgentEvent): boolean {
  if (event.type !== 'tool_call_ready' || event.name !== name) return false;
  const result = schema['~standard'].validate(event.input);
  if (!(result instanceof Promise)) return result.issues === undefined;
  result.catch(() => {});
  return false;
}

function isResult(name: string, event: AgentEvent): boolean {
  if (event.type !== 'part_finished' || event.part?.kind !== 'tool_result') return false;
  return event.part.name === name && !event.part.isError && event.part.partial !== true;
}

function schemaOf(name: string, schema: Schema): JsonObject {
  const jsonSchema = jsonSchemaOf(schema);
  if (jsonSchema === undefined) throw noJsonSchema(name);
  return jsonSchema;
}

function badName(name: string): AgentError {
  const message = `Cannot define tool ${JSON.stringify(name)}: the name must have 1 to 64 letters, digits, _ or -`;
  return new AgentError('bad_option', message, { tool: name });
}

function badBuiltIn(name: string, answers: string): AgentError {
  const known = Object.keys(builtInTools).join(', ');
  const message = `Cannot define tool ${name}: there is no built-in tool ${answers}. Use one of ${known}`;
  return new AgentError('bad_option', message, { tool: name, field: 'answers' });
}

function badChoice(name: string, key: keyof typeof choices, value: unknown): AgentError {
  const message = `Cannot define tool ${name}: ${key} is ${String(value)}, but must be ${choices[key].join(' or ')}`;
  return new AgentError('bad_option', message, { tool: name, field: key });
}

function badNumber(name: string, key: string, value: unknown): AgentError {
  const message = `Cannot define tool ${name}: ${key} is ${value}, but must be at least 0`;
  return new AgentError('bad_option', message, { tool: name });
}

function noJsonSchema(name: string): AgentError {
  const message = `Cannot define tool ${name}: its schema library does not produce JSON Schema. Pass it as inputSchema`;
  return new AgentError('bad_option', message, { tool: name });
}

/**
 * Throws if a tool has an unknown field. In other libraries, a field of the tool can require an approval. If
 * such a field were ignored, the tool would run without approval.
 */
export function assertKnownFields<Options extends { readonly name?: string | undefined }>(
  options: Options,
  fields: OptionNames<Options>,
): void {
  const unknown = findUnknownOption(options, fields);
  if (unknown !== undefined) throw unknownField(options.name ?? '', unknown);
}

const isApproval = /approv|confirm|permission/i;

function unknownField(name: string, { name: field, hint }: UnknownOption): AgentError {
  const way = isApproval.test(field)
    ? 'To control whether calls may run, use createAgent({ approve })'
    : field === 'replay'
      ? 'To run the tool again after a crash, use afterCrash'
      : hint;
  const message = `Cannot define tool ${name}: unknown field ${field}. ${way}`;
  return new AgentError('bad_option', message, { tool: name, field });
}
