import type { CallerOptions, CallerTool } from '@millrace/agent';
import type { JsonObject, JsonValue } from '@millrace/core';
import { z } from 'zod';
import { checkedList } from '../../contract/checked-list.ts';
import { closedObject } from '../../contract/closed-object.ts';
import { jsonObjectSchema, jsonValueSchema } from '../../contract/content.ts';
import {
  callEntry,
  contentSchema,
  type InputEntry,
  inputEntrySchema,
  messageEntry,
  readInput,
  refused,
  shown,
  textIn,
} from './input-items.ts';

/** A request of any OpenAI-compatible endpoint, in the words of Millrace. */
export interface DoorRequest {
  /** The name of an agent, or `agent/model`. Undefined means the agent of the session. */
  readonly model: string | undefined;
  readonly entries: readonly InputEntry[];
  /** The session that the request continues. Default: a new session. */
  readonly continues?:
    | { readonly by: 'conversation' | 'previous_response_id'; readonly id: string }
    | undefined;
  readonly caller: CallerOptions;
  /** The labels of the MCP servers in `tools`. Only a label with the name of the agent is accepted. */
  readonly serverLabels: readonly string[];
  /** The fields that the response repeats. The log stores them with the message. */
  readonly echo: JsonObject;
  readonly isStream: boolean;
  readonly isBackground: boolean;
  /** False if the session must be deleted after the answer. */
  readonly isStored: boolean;
}

const name = z.string().regex(/^[\w-]{1,64}$/);
const ignoredText = z.string().max(2048).nullish();
const number = z.number().nullish();
const count = z.int().positive().nullish();

const functionFields = {
  name,
  description: z.string().max(100_000).nullish(),
  parameters: jsonObjectSchema.nullish(),
  strict: z.boolean().nullish(),
};

/** A tool. Only functions have a meaning here, so the fields of other tools are not checked. */
const toolSchema = z.looseObject({
  type: z.string().max(64),
  ...functionFields,
  name: name.nullish(),
  server_label: z.string().max(256).nullish(),
  function: closedObject(functionFields).nullish(),
});

const toolChoiceSchema = z.union([
  z.string().max(64),
  z.looseObject({
    type: z.string().max(64),
    name: z.string().max(256).nullish(),
    mode: z.string().max(64).nullish(),
    function: z.looseObject({ name: z.string().max(256) }).nullish(),
    tools: checkedList(z.looseObject({ name: z.string().max(256).nullish() }), 1000).nullish(),
    allowed_tools: z
      .looseObject({
        mode: z.string().max(64).nullish(),
        tools: checkedList(
          z.looseObject({ function: z.looseObject({ name: z.string().max(256) }).nullish() }),
          1000,
        ).nullish(),
      })
      .nullish(),
  }),
]);

const formatSchema = z.looseObject({
  type: z.string().max(64),
  name: z.string().max(64).nullish(),
  schema: jsonObjectSchema.nullish(),
  strict: z.boolean().nullish(),
  json_schema: z
    .looseObject({
      name: z.string().max(64),
      schema: jsonObjectSchema.nullish(),
      strict: z.boolean().nullish(),
    })
    .nullish(),
});

const maxMetadata = { keys: 16, keyLength: 64, valueLength: 512 };

/** The metadata of a request, with the limits of OpenAI. Each record of the answer can repeat it. */
const metadataSchema = jsonObjectSchema.refine(
  (metadata) => {
    const keys = Object.keys(metadata);
    return (
      keys.length <= maxMetadata.keys &&
      keys.every((key) => key.length <= maxMetadata.keyLength && isShort(metadata[key]))
    );
  },
  { message: 'must have at most 16 keys of 64 characters, and texts of 512 characters' },
);

function isShort(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return value.length <= maxMetadata.valueLength;
  return typeof value !== 'object' || value === null;
}

/** The fields that both endpoints have. */
const common = {
  model: z.string().min(1).max(512).nullish(),
  stream: z.boolean().nullish(),
  store: z.boolean().nullish(),
  tools: checkedList(toolSchema, 1000).nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  temperature: number,
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: z.int().nullish(),
  metadata: metadataSchema.nullish(),
  /** These fields do not change the answer. The server ignores them. */
  user: ignoredText,
  safety_identifier: ignoredText,
  prompt_cache_key: ignoredText,
  prompt_cache_retention: ignoredText,
  service_tier: ignoredText,
  stream_options: jsonObjectSchema.nullish(),
};

/** The body of `POST /v1/responses`. */
export const responseBodySchema = closedObject({
  ...common,
  input: z.union([z.string().max(10_485_760), checkedList(inputEntrySchema, 10_000)]).nullish(),
  instructions: z.string().max(1_000_000).nullish(),
  previous_response_id: z.string().max(2048).nullish(),
  conversation: z
    .union([z.string().max(1024), z.looseObject({ id: z.string().max(1024) })])
    .nullish(),
  background: z.boolean().nullish(),
  max_output_tokens: count,
  max_tool_calls: count,
  reasoning: z.looseObject({ effort: z.string().max(32).nullish() }).nullish(),
  text: z
    .looseObject({ format: formatSchema.nullish(), verbosity: z.string().max(32).nullish() })
    .nullish(),
  truncation: ignoredText,
  include: checkedList(z.string().max(128), 100).nullish(),
});

const messageSchema = z.looseObject({
  role: z.string().max(32),
  content: contentSchema.nullish(),
  name: z.string().max(256).nullish(),
  tool_call_id: z.string().max(1024).nullish(),
  tool_calls: checkedList(
    z.looseObject({
      id: z.string().max(1024),
      function: z.looseObject({ name: z.string().max(256), arguments: z.string() }).nullish(),
    }),
    1000,
  ).nullish(),
});

/** The body of `POST /v1/chat/completions`. */
export const completionBodySchema = closedObject({
  ...common,
  messages: checkedList(messageSchema, 10_000, 1),
  max_tokens: count,
  max_completion_tokens: count,
  reasoning_effort: z.string().max(32).nullish(),
  response_format: formatSchema.nullish(),
  stop: z.union([z.string(), checkedList(z.string(), 16)]).nullish(),
  n: z.int().nullish(),
  logprobs: z.boolean().nullish(),
  logit_bias: jsonObjectSchema.nullish(),
  modalities: checkedList(z.string().max(32), 8).nullish(),
  verbosity: z.string().max(32).nullish(),
  /** A hint for the sampling. OpenAI does not guarantee its effect, and the server ignores it. */
  seed: z.int().nullish(),
  /** A hint that only changes the speed. The server ignores it. */
  prediction: jsonValueSchema.optional(),
});

type ResponseBody = z.output<typeof responseBodySchema>;
type CompletionBody = z.output<typeof completionBodySchema>;
type CommonBody = Pick<ResponseBody, keyof typeof common>;

/** Reads a request of the Responses API. Throws for fields whose effect the server cannot provide. */
export function readResponseBody(body: ResponseBody): DoorRequest {
  const { previous_response_id: previous, conversation, background, text, reasoning } = body;
  assertPlain('max_tool_calls', body.max_tool_calls, []);
  assertPlain('text.verbosity', text?.verbosity, ['medium']);
  if (previous != null && conversation != null)
    throw refused('previous_response_id', 'send either it or conversation');
  if (background === true && body.store === false)
    throw refused('background', 'a response that is not stored cannot run in the background');
  const id = typeof conversation === 'object' ? conversation?.id : conversation;
  const continues =
    previous != null
      ? ({ by: 'previous_response_id', id: previous } as const)
      : id != null
        ? ({ by: 'conversation', id } as const)
        : undefined;
  // With `store: false`, the server deletes the session after the answer. This would also delete the earlier
  // content of a continued session.
  if (continues !== undefined && body.store === false)
    throw refused('store', 'a response that continues a session is stored in that session');
  const caller = callerOf(body, {
    effort: reasoning?.effort,
    maxOutputTokens: body.max_output_tokens,
    format: text?.format,
    instructions: body.instructions,
  });
  return {
    ...requestOf(body, caller),
    entries: readInput(body.input),
    continues,
    isBackground: background === true,
    echo: echoOf(body),
  };
}

/** Reads a request of the Chat Completions API. Throws for fields whose effect the server cannot provide. */
export function readCompletionBody(body: CompletionBody): DoorRequest {
  assertPlain('n', body.n, [1]);
  assertPlain('logprobs', body.logprobs, [false]);
  assertPlain('verbosity', body.verbosity, ['medium']);
  if (Object.keys(body.logit_bias ?? {}).length > 0)
    throw refused('logit_bias', 'agents do not support it');
  for (const modality of body.modalities ?? [])
    assertPlain('modalities', modality === 'text' ? null : modality, []);
  const caller = callerOf(body, {
    effort: body.reasoning_effort,
    maxOutputTokens: body.max_completion_tokens ?? body.max_tokens,
    format: body.response_format,
    stop: body.stop,
  });
  return {
    ...requestOf(body, caller),
    entries: body.messages.flatMap((message, index) => readMessage(message, `messages[${index}]`)),
    isBackground: false,
    echo: echoOf(body),
  };
}

function readMessage(
  message: CompletionBody['messages'][number],
  place: string,
): readonly InputEntry[] {
  const { role, content, tool_calls: calls, tool_call_id: callId } = message;
  if (role === 'tool')
    return [{ type: 'output', callId: callId ?? '', output: textIn(content ?? '', place) }];
  const isSaid = role !== 'assistant' || (content != null && content.length > 0);
  const said = isSaid ? [messageEntry(role, content ?? '', place)] : [];
  const made = (calls ?? []).map(({ id, function: call }) =>
    callEntry({ id, name: call?.name ?? '', text: call?.arguments ?? '' }, place),
  );
  return [...said, ...made];
}

function requestOf(body: CommonBody, caller: CallerOptions) {
  const labels = (body.tools ?? []).flatMap(({ type, server_label: label }) =>
    type === 'mcp' ? [label ?? ''] : [],
  );
  return {
    model: body.model ?? undefined,
    caller,
    serverLabels: labels,
    isStream: body.stream === true,
    isStored: body.store !== false,
  };
}

interface SpecificOptions {
  readonly effort?: string | null | undefined;
  readonly maxOutputTokens?: number | null | undefined;
  readonly format?: z.output<typeof formatSchema> | null | undefined;
  readonly instructions?: string | null | undefined;
  readonly stop?: string | string[] | null | undefined;
}

const efforts: Readonly<Record<string, 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'max'>> = {
  ...{ none: 'none', minimal: 'minimal', low: 'low', medium: 'medium', high: 'high' },
  ...{ xhigh: 'max', max: 'max' },
};

function callerOf(body: CommonBody, specific: SpecificOptions): CallerOptions {
  assertPlain('presence_penalty', body.presence_penalty, [0]);
  assertPlain('frequency_penalty', body.frequency_penalty, [0]);
  assertPlain('top_logprobs', body.top_logprobs, [0]);
  const { effort, maxOutputTokens, stop, instructions } = specific;
  const reasoning = effort == null ? undefined : efforts[effort];
  if (effort != null && reasoning === undefined)
    throw refused('reasoning.effort', `use one of ${Object.keys(efforts).join(', ')}`);
  const { tools, toolChoice } = toolsOf(body);
  const output = outputOf(specific.format);
  const request = {
    ...(toolChoice !== undefined && { toolChoice }),
    ...(body.temperature != null && { temperature: body.temperature }),
    ...(body.top_p != null && { topP: body.top_p }),
    ...(maxOutputTokens != null && { maxOutputTokens }),
    ...(reasoning !== undefined && { reasoning }),
    ...(stop != null && { stopSequences: [stop].flat() }),
  };
  return {
    ...(tools.length > 0 && { tools }),
    ...(instructions != null && instructions !== '' && { instructions }),
    ...(Object.keys(request).length > 0 && { request }),
    ...(output && { output }),
  };
}

function toolsOf(body: CommonBody) {
  const all = (body.tools ?? []).flatMap((tool, index) => toolOf(tool, `tools[${index}]`));
  const { choice, allowed } = choiceOf(body.tool_choice);
  const tools = allowed === undefined ? all : all.filter((tool) => allowed.includes(tool.name));
  const named = typeof choice === 'object' ? choice.name : undefined;
  if (named !== undefined && !tools.some((tool) => tool.name === named))
    throw refused('tool_choice', `tools has no function ${shown(named)}`);
  const mayRepeat = tools.length > 1 && named === undefined && choice !== 'none';
  if (body.parallel_tool_calls === false && mayRepeat)
    throw refused('parallel_tool_calls', 'a model can call several tools at once here');
  return { tools, toolChoice: choice };
}

type Choice = 'auto' | 'none' | 'required' | { readonly name: string };

function choiceOf(given: CommonBody['tool_choice']): {
  readonly choice?: Choice | undefined;
  readonly allowed?: readonly string[] | undefined;
} {
  if (given == null || given === 'auto') return {};
  if (given === 'none' || given === 'required') return { choice: given };
  if (typeof given === 'object' && given.type === 'function') {
    const name = given.name ?? given.function?.name;
    if (name != null) return { choice: { name } };
  }
  if (typeof given === 'object' && given.type === 'allowed_tools') {
    const { mode, tools } = given.allowed_tools ?? given;
    const allowed = (tools ?? []).flatMap((tool) => {
      const { name, function: of } = tool as Partial<z.output<typeof toolSchema>>;
      return name ?? of?.name ?? [];
    });
    return { allowed, ...(mode === 'required' && { choice: mode }) };
  }
  throw refused('tool_choice', `it is ${shown(given)}. Use auto, none, required or a function`);
}

function toolOf(tool: z.output<typeof toolSchema>, place: string): readonly CallerTool[] {
  if (tool.type === 'mcp') return [];
  const { name, description, parameters, strict } = tool.function ?? tool;
  if (tool.type !== 'function' || name == null)
    throw refused(place, `tools of the type ${shown(tool.type)} are not supported. Use function`);
  return [
    {
      name,
      ...(description != null && { description }),
      ...(parameters != null && { parameters }),
      ...(strict != null && { strict }),
    },
  ];
}

/** The format `json_object`: a JSON object with any fields. */
const anyObject = {
  name: 'json_object',
  schema: { type: 'object', additionalProperties: true },
  strict: false,
};

function outputOf(format: SpecificOptions['format']) {
  if (format == null || format.type === 'text') return undefined;
  if (format.type === 'json_object') return anyObject;
  const { name, schema, strict } = format.json_schema ?? format;
  if (format.type !== 'json_schema' || schema == null)
    throw refused('format', `it is ${shown(format.type)}. Use text, json_object or json_schema`);
  return { name: name ?? 'answer', schema, ...(strict != null && { strict }) };
}

/** Throws if a field has a value that changes the answer, because agents do not support the field. */
function assertPlain(param: string, value: unknown, plain: readonly unknown[]): void {
  if (value == null || plain.includes(value)) return;
  throw refused(param, `agents do not support the value ${shown(value)}`);
}

/** Returns the fields of the request that the response repeats. */
function echoOf(body: CommonBody & Partial<ResponseBody>): JsonObject {
  const { metadata, background, previous_response_id: previous, store } = body;
  return {
    ...(body.model != null && { model: body.model }),
    ...(metadata != null && { metadata }),
    ...(background === true && { background }),
    ...(previous != null && { previous }),
    ...(store === false && { store }),
    ...(body.text?.format?.type === 'json_object' && { format: 'json_object' }),
    ...(body.prompt_cache_key != null && { promptCacheKey: body.prompt_cache_key }),
    ...(body.safety_identifier != null && { safetyIdentifier: body.safety_identifier }),
  };
}
