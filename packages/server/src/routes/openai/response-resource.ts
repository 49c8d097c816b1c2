import type { CallerOptions } from '@millrace/agent';
import type { Stop, Usage } from '@millrace/core';
import type { Question, ResponseEnd } from './response-log.ts';

/** An item of a response's output. */
export interface OutputItem {
  readonly type: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

/** A response as clients receive it. */
export interface ResponseResource {
  readonly id: string;
  readonly object: 'response';
  readonly status: ResponseStatus;
  readonly output: readonly OutputItem[];
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly usage: ReturnType<typeof usageOf> | null;
  readonly [field: string]: unknown;
}

type ResponseStatus =
  | 'queued'
  | 'in_progress'
  | 'completed'
  | 'incomplete'
  | 'failed'
  | 'cancelled';

interface ResourceState {
  readonly id: string;
  /** The name of the agent. */
  readonly agent: string;
  readonly output: readonly OutputItem[];
  readonly usage: Usage | undefined;
  readonly end: ResponseEnd | undefined;
  readonly hasStarted: boolean;
}

/** Returns the response with all fields that the specification requires. */
export function resourceOf(
  { taskId, at, caller, echo }: Question,
  { id, agent, output, usage, end, hasStarted }: ResourceState,
): ResponseResource {
  const { request = {}, instructions = null, tools = [], output: schema } = caller;
  const outcome = end === undefined ? running(hasStarted) : outcomeOf(end);
  return {
    id,
    object: 'response',
    created_at: seconds(at),
    completed_at: outcome.status === 'completed' && end ? seconds(end.at) : null,
    ...outcome,
    model: echo['model'] ?? agent,
    conversation: { id: taskId },
    previous_response_id: echo['previous'] ?? null,
    instructions,
    output,
    tools: tools.map(toolOf),
    tool_choice: choiceOf(request.toolChoice),
    parallel_tool_calls: true,
    truncation: 'disabled',
    text: { format: formatOf(schema, echo['format']) },
    temperature: request.temperature ?? 1,
    top_p: request.topP ?? 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    reasoning: { effort: request.reasoning ?? null, summary: null },
    usage: usage === undefined ? null : usageOf(usage),
    max_output_tokens: request.maxOutputTokens ?? null,
    max_tool_calls: null,
    store: echo['store'] !== false,
    background: echo['background'] === true,
    service_tier: 'default',
    metadata: echo['metadata'] ?? {},
    safety_identifier: echo['safetyIdentifier'] ?? null,
    prompt_cache_key: echo['promptCacheKey'] ?? null,
  };
}

type Outcome = Pick<ResponseResource, 'status' | 'error' | 'incomplete_details'>;

function running(hasStarted: boolean): Outcome {
  return { status: hasStarted ? 'in_progress' : 'queued', error: null, incomplete_details: null };
}

/** Returns the status of a response that has ended. */
function outcomeOf({ stop, error }: ResponseEnd): Outcome {
  const none = { error: null, incomplete_details: null };
  const because = (reason: string): Outcome => ({
    ...{ status: 'incomplete', error: null, incomplete_details: { reason } },
  });
  switch (stop.reason) {
    case 'length':
      return because('max_output_tokens');
    case 'content_filter':
    case 'blocked':
      return because('content_filter');
    case 'limit':
      return because(stop.cause ?? 'limit');
    case 'aborted':
      if (stop.cause !== 'interrupted')
        return { status: 'cancelled', error: null, incomplete_details: { reason: 'cancelled' } };
      return { status: 'failed', error: failure(stop, error), incomplete_details: null };
    case 'error':
      return { status: 'failed', error: failure(stop, error), incomplete_details: null };
    default:
      return { status: 'completed', ...none };
  }
}

function failure({ cause }: Stop, error: ResponseEnd['error']) {
  if (error !== undefined) return { code: codeOf(error.code), message: error.message };
  const message =
    cause === 'interrupted'
      ? 'The process of the agent ended during the response. The partial answer is stored'
      : 'The run failed';
  return { code: 'server_error', message };
}

function codeOf(code: string): string {
  return code === 'rate_limit' ? 'rate_limit_exceeded' : code;
}

function usageOf({ input, output, cacheRead, reasoning }: Usage) {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

function formatOf(schema: CallerOptions['output'], asked: unknown) {
  if (schema === undefined) return { type: 'text' };
  return asked === 'json_object'
    ? { type: asked }
    : { type: 'json_schema', strict: null, ...schema };
}

function toolOf({ name, description, parameters, strict }: NonNullable<CallerOptions['tools']>[0]) {
  return {
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  };
}

function choiceOf(choice: NonNullable<CallerOptions['request']>['toolChoice']) {
  return typeof choice === 'object' ? { type: 'function', ...choice } : (choice ?? 'auto');
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
