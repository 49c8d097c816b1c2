import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ReasoningEffort } from '../contract/model-request.ts';
import { toMessages } from '../history/to-messages.ts';
import { objectIn, objectsIn, textIn } from '../json/fields.ts';
import { effortFor } from '../models/effort.ts';
import { anthropicStrictRules, strictSchema } from '../schema/strict-schema.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { mergeHeaders, readHeaders, streamHeaders } from '../wire/api-options.ts';
import { refuseUnsupported } from '../wire/check-request.ts';
import { withProviderOptions } from '../wire/provider-options.ts';
import { containerOf, withoutForeignCode } from './container.ts';
import type { MessagesHost } from './host.ts';
import { cacheControl, conversationOf, type MessageTurn } from './messages.ts';
import type { AnthropicModel, AnthropicOptions, ModelTraits } from './options.ts';
import { outputToolName, type ToolFields, toolFields } from './tools.ts';

const toolCallIds = { form: /^[A-Za-z0-9_-]{1,64}$/, length: 24 };

export function anthropicRequest(
  request: ModelRequest,
  options: AnthropicModel,
  host: MessagesHost,
  session: string | undefined,
): HttpRequest {
  const { id: provider, model, betas: requested = [] } = options;
  refuseUnsupported(request, 'the Messages API', ['candidates', 'logprobs']);
  const maxCachePoints = maxPoints - ownPoints(request, options);
  const history = toMessages(request, { provider, model, ids: toolCallIds, maxCachePoints });
  const messages = withoutForeignCode(history, session);
  const container = containerOf(messages, session);
  const conversation = conversationOf(messages, request.cache, rulesOf(options, host));
  const { system, turns, cachePoints } = conversation;
  const betas = betasFor(requested, turns);
  const headers = headersFor(options, betas, host);
  const warnings: string[] = [];
  const body: JsonObject = {
    ...host.fields(options, betas),
    ...withCachedTools(
      settingFields(request, options, turns, warnings),
      cachePoints > 0 && cachePoints < maxCachePoints ? cacheControl(request.cache) : undefined,
    ),
    ...(system.length === 0 ? {} : { system }),
    messages: turns.map(({ role, content }) => ({ role, content })),
    ...(container === undefined ? {} : { container }),
  };
  return {
    url: host.url(options),
    headers,
    body: withProviderOptions(body, provider, request),
    secrets: secretsIn(headers, options),
    warnings,
  };
}

/**
 * Returns a function that creates the HTTP request to the files API, without a body. Throws a TypeError if
 * the host has no files API.
 */
export function filesRequest(options: AnthropicOptions, host: MessagesHost): () => HttpRequest {
  const { filesUrl, provider } = host;
  if (filesUrl === undefined) {
    const way = 'it has no files API; leave the option out';
    throw new TypeError(`Cannot use uploads with ${provider}: ${way}`);
  }
  return () => {
    const given = (options.betas ?? []).filter((beta) => isSameFeature(beta, filesBeta));
    const headers = headersFor(options, given.length > 0 ? given : [filesBeta], host);
    return { url: filesUrl(options), headers, body: {}, secrets: secretsIn(headers, options) };
  };
}

function secretsIn(headers: Headers, { authToken }: AnthropicOptions): readonly string[] {
  return [headers['x-api-key'], headers['authorization'], authToken].flatMap(
    (secret) => secret ?? [],
  );
}

function rulesOf(options: AnthropicModel, host: MessagesHost) {
  const { traits } = options;
  const isTaken = traits.systemMessages && host.takesSystemMessages(options);
  return {
    takesSystemMessages: options.systemMessages ?? isTaken,
    takesPrefill: traits.prefill,
  };
}

/** The maximum number of cache points that the API accepts in one request. */
const maxPoints = 4;

/** Returns the number of cache points that the caller has set on tools. */
function ownPoints({ tools = [] }: ModelRequest, { extraTools = [] }: AnthropicOptions): number {
  const given = [...extraTools, ...tools.map((tool) => tool.providerOptions?.anthropic ?? {})];
  return Math.min(maxPoints, given.filter((tool) => 'cache_control' in tool).length);
}

/**
 * Adds a cache point after the tools. The tools come first in the prompt, so they stay cached if the
 * instructions change.
 */
function withCachedTools(fields: JsonObject, control: JsonObject | undefined): JsonObject {
  const tools = objectsIn(fields, 'tools');
  // The API rejects a cache point on a tool with `defer_loading`.
  const last = tools.findLastIndex((tool) => tool['defer_loading'] !== true);
  if (control === undefined || last < 0 || tools.some((tool) => 'cache_control' in tool))
    return fields;
  const marked = { ...tools[last], cache_control: control };
  return { ...fields, tools: tools.with(last, marked) };
}

type Headers = Readonly<Record<string, string>>;

function headersFor(
  options: AnthropicOptions,
  betas: readonly string[],
  host: MessagesHost,
): Headers {
  const given = readHeaders(options.headers);
  const isKeyGiven = 'x-api-key' in given || 'authorization' in given;
  return mergeHeaders(
    streamHeaders,
    host.headers(options, betas),
    isKeyGiven ? {} : host.keyHeader(options),
    given,
  );
}

/** Returns all fields of the body except the conversation. */
function settingFields(
  request: ModelRequest,
  options: AnthropicModel,
  turns: readonly MessageTurn[],
  warnings: string[],
): JsonObject {
  const { traits } = options;
  const maxTokens = request.maxOutputTokens ?? options.maxTokens ?? traits.maxTokens;
  const outputTool = outputToolName(request, options);
  const tools = toolFields(request, options, outputTool, warnings);
  const style = { ...traits, thinking: options.thinking ?? traits.thinking };
  const mayThink = style.thinking !== 'budget' || canContinueThinking(turns);
  const effort = mayThink ? request.reasoning : undefined;
  const thinking = isToolForced(tools)
    ? thinkingFieldsForForcedTool(effort, style)
    : thinkingFields(effort, style, maxTokens);
  return {
    max_tokens: maxTokens,
    ...tools,
    ...(thinking.thinking === undefined ? {} : { thinking: thinking.thinking }),
    ...outputConfig(request, thinking, outputTool),
    ...samplingFields(request, thinking, traits.takesTemperature),
    ...(request.stopSequences === undefined ? {} : { stop_sequences: request.stopSequences }),
  };
}

/**
 * Returns whether the request forces the model to call a tool. In this case, the model cannot think first.
 */
function isToolForced({ tool_choice: choice }: ToolFields): boolean {
  return choice?.['type'] === 'any' || choice?.['type'] === 'tool';
}

function outputConfig(
  { output }: ModelRequest,
  { effort }: ThinkingFields,
  outputTool: string | undefined,
): JsonObject {
  const isFormat = output !== undefined && outputTool === undefined;
  if (!isFormat && effort === undefined) return {};
  const format = isFormat
    ? { format: { type: 'json_schema', schema: formatSchema(output.schema) } }
    : {};
  return { output_config: { ...format, ...(effort === undefined ? {} : { effort }) } };
}

/**
 * Returns the schema for the output format. It is the strict schema if the API can enforce it, and otherwise
 * the original schema.
 */
function formatSchema(schema: JsonObject): JsonObject {
  const strict = strictSchema(schema, anthropicStrictRules);
  return strict.isStrict ? strict.schema : schema;
}

/**
 * Returns the field `temperature` or `top_p`. The API rejects both fields while the model thinks, and it
 * never accepts both together.
 */
function samplingFields(
  { temperature, topP }: ModelRequest,
  { thinking }: ThinkingFields,
  isTaken: boolean,
): JsonObject {
  const isThinking = thinking !== undefined && thinking['type'] !== 'disabled';
  if (isThinking || !isTaken) return {};
  if (temperature !== undefined) return { temperature };
  return topP === undefined ? {} : { top_p: topP };
}

interface ThinkingFields {
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

const budgets = { minimal: 1024, low: 4096, medium: 10_000, high: 20_000, max: 32_000 } as const;

/** The minimum thinking budget that the API accepts, in tokens. */
const minBudget = 1024;

/** The maximum share of the output tokens that thinking may use. The remaining tokens are for the answer. */
const maxShare = 0.75;

/** Returns the fields that request thinking with the given effort. */
function thinkingFields(
  effort: ReasoningEffort | undefined,
  { thinking, canStopThinking, efforts }: ModelTraits,
  maxTokens: number,
): ThinkingFields {
  if (effort === undefined || thinking === 'none') return {};
  if (effort === 'none') {
    return canStopThinking ? { thinking: { type: 'disabled' } } : { effort: 'low' };
  }
  if (thinking === 'adaptive') {
    // Without this field, newer models do not return their thinking.
    return {
      thinking: { type: 'adaptive', display: 'summarized' },
      ...effortField(effort, efforts),
    };
  }
  const budget = Math.min(budgets[effort], Math.floor(maxTokens * maxShare));
  return budget < minBudget ? {} : { thinking: { type: 'enabled', budget_tokens: budget } };
}

/**
 * Returns the fields that turn thinking off, because the request forces a tool. Some models think by default.
 */
function thinkingFieldsForForcedTool(
  effort: ReasoningEffort | undefined,
  { thinking, canStopThinking, efforts }: ModelTraits,
): ThinkingFields {
  if (thinking !== 'adaptive') return {};
  // The API rejects the effort `max` without thinking.
  const most = effort === 'max' ? 'high' : effort;
  return {
    ...(canStopThinking ? { thinking: { type: 'disabled' } } : {}),
    ...(most === undefined || most === 'none' ? {} : effortField(most, efforts)),
  };
}

function effortField(
  requested: ReasoningEffort,
  efforts: ModelTraits['efforts'],
): Pick<ThinkingFields, 'effort'> {
  const effort = effortFor(requested, efforts);
  return effort === undefined ? {} : { effort };
}

/**
 * Returns whether the last assistant turn can continue with a thinking budget. The API requires that the turn
 * started with signed thinking. This is not the case if a different model started the turn.
 */
function canContinueThinking(all: readonly MessageTurn[]): boolean {
  const turns = all.filter(({ role }) => role !== 'system');
  const lastUserTurn = turns.findLastIndex(
    ({ role, content }) => role === 'user' && !content.some(({ type }) => type === 'tool_result'),
  );
  const [first] = turns[lastUserTurn + 1]?.content ?? [];
  return first === undefined || ['thinking', 'redacted_thinking'].includes(String(first['type']));
}

/**
 * Maps block types to the beta feature that created them. The API accepts such a block only if the feature is
 * enabled.
 */
const betaOfBlock: Readonly<Record<string, string>> = {
  compaction: 'compact-2026-01-12',
  fallback: 'server-side-fallback-2026-07-01',
  mcp_tool_use: 'mcp-client-2025-11-20',
  mcp_tool_result: 'mcp-client-2025-11-20',
};

const filesBeta = 'files-api-2025-04-14';

/** Returns whether a block refers to a file, either directly or inside a tool result. */
function namesFile(block: JsonObject): boolean {
  return (
    textIn(objectIn(block, 'source'), 'type') === 'file' ||
    objectsIn(block, 'content').some((inner) => namesFile(inner))
  );
}

const dateLength = '2026-01-12'.length;

/**
 * Returns the requested beta features and the features that the history requires. Each feature is included in
 * only one version.
 */
function betasFor(requested: readonly string[], turns: readonly MessageTurn[]): readonly string[] {
  const types = turns.flatMap(({ content }) => content.map(({ type }) => String(type)));
  const needed = new Set(
    types.flatMap((type) => (Object.hasOwn(betaOfBlock, type) ? (betaOfBlock[type] ?? []) : [])),
  );
  if (turns.some(({ content }) => content.some(namesFile))) needed.add(filesBeta);
  const isRequested = (beta: string) => requested.some((other) => isSameFeature(other, beta));
  return [...requested, ...[...needed].filter((beta) => !isRequested(beta))];
}

/**
 * Returns whether two names refer to the same feature. Such names differ only in their version, which is a
 * date.
 */
function isSameFeature(beta: string, other: string): boolean {
  return beta.slice(0, -dateLength) === other.slice(0, -dateLength);
}
