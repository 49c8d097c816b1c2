import type { JsonObject, JsonValue, OptionNames } from '@millrace/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Tool } from '../contract/tool.ts';
import { assertKnownFields, type DefinedTool, defineTool } from './define-tool.ts';
import { jsonSchemaOf, validateWithSchema, withoutNulls } from './schema.ts';

/** Options of `clientTool`. */
export interface ClientToolOptions<
  Input extends StandardSchemaV1,
  Output extends StandardSchemaV1 = StandardSchemaV1,
> {
  /**
   * The name of the tool. It has 1 to 64 letters, digits, `_` or `-`, because all providers accept such
   * names.
   */
  readonly name: string;
  /** The text that explains to the model what the tool does and when to use it. */
  readonly description: string;
  /** The schema of the input, from any library that implements Standard Schema. */
  readonly input: Input;
  /** The schema of the output, from any library that implements Standard Schema. Default: any JSON. */
  readonly output?: Output | undefined;
  /** JSON Schema of the input. Required if the schema library cannot produce it. */
  readonly inputSchema?: JsonObject | undefined;
  /** Maximum length of the text for the model, in characters. Default: 30,000. */
  readonly maxOutputLength?: number | undefined;
  /**
   * Asks the provider to enforce the schema on the model's arguments. Default: the provider's own
   * default.
   */
  readonly strict?: boolean | undefined;
  /** Additional fields of the tool's definition in requests, by provider. Default: none. */
  readonly providerOptions?: Tool['providerOptions'];
  /** Returns one line for the user that describes the call. Default: the tool's name. */
  readonly summarize?: ((input: StandardSchemaV1.InferOutput<Input>) => string) | undefined;
}

/**
 * Defines a tool that a client runs, for example a page in a browser. A call waits until a client sends its
 * output. The client can use `agent.provideToolResult`, `run.provideToolResult`, a `tool_output` command, the
 * server, or `addToolOutput` of the AI SDK. The `output` schema must accept the output.
 *
 * @example
 * const askAddress = clientTool({
 *   name: 'ask_address',
 *   description: 'Shows a form and returns the address of the user',
 *   input: z.object({ country: z.string() }),
 *   output: z.object({ street: z.string(), town: z.string() }),
 * });
 */
export function clientTool<
  const Name extends string,
  Input extends StandardSchemaV1,
  Output extends StandardSchemaV1 = StandardSchemaV1<JsonValue>,
>(
  options: ClientToolOptions<Input, Output> & { readonly name: Name },
): DefinedTool<
  Name,
  StandardSchemaV1.InferInput<Input>,
  StandardSchemaV1.InferOutput<Input>,
  StandardSchemaV1.InferOutput<Output>
> {
  assertKnownFields<ClientToolOptions<Input, Output>>(options, optionNames);
  const { output, name, ...rest } = options;
  const schema = output && jsonSchemaOf(output);
  const tool = defineTool({ ...rest, name, execute: () => Promise.reject(new Error(notHere)) });
  const validate = async (given: JsonValue) => {
    if (output === undefined) return { ok: true, value: given } as const;
    return validateWithSchema(output, schema ? await withoutNulls(schema, given) : given);
  };
  return { ...tool, client: { validate } } as never;
}

const notHere = 'A client runs this tool.';

const optionNames: OptionNames<ClientToolOptions<StandardSchemaV1>> = {
  name: true,
  description: true,
  input: true,
  output: true,
  inputSchema: true,
  maxOutputLength: true,
  strict: true,
  providerOptions: true,
  summarize: true,
};
