import { ServerError } from '../../contract/server-error.ts';
import type { OutputItem, ResponseResource } from './response-resource.ts';
import type { ResponseEvent } from './response-view.ts';

/** A chunk of a chat completion. */
export type CompletionChunk = Readonly<Record<string, unknown>>;

interface CompletionOptions {
  readonly model: string;
  /** True if the last chunk contains the usage. */
  readonly includesUsage: boolean;
}

/**
 * Converts the events of a response to chunks of a chat completion. Calls that the agent runs itself have no
 * chunks, because the protocol has no form for them.
 */
export class CompletionView {
  readonly #options: CompletionOptions;
  readonly #calls = new Map<string, number>();
  #head: Readonly<Record<string, unknown>> = {};
  #hasText = false;

  constructor(options: CompletionOptions) {
    this.#options = options;
  }

  /** Returns the chunks of an event. Throws the error of a response that failed. */
  add(event: ResponseEvent): readonly CompletionChunk[] {
    const { type, item, item_id: id = '', delta = '', response } = event;
    switch (type) {
      case 'response.created':
        if (response !== undefined) this.#head = headOf(response, this.#options.model);
        return [this.#chunk({ role: 'assistant', content: '' })];
      case 'response.output_item.added':
        return item === undefined ? [] : this.#added(item);
      case 'response.output_text.delta':
        this.#hasText = true;
        return [this.#chunk({ content: delta })];
      case 'response.reasoning_summary_text.delta':
        return [this.#chunk({ reasoning_content: delta })];
      case 'response.function_call_arguments.delta': {
        const index = this.#calls.get(id) ?? 0;
        return [this.#chunk({ tool_calls: [{ index, function: { arguments: delta } }] })];
      }
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return response === undefined ? [] : this.#last(response);
      default:
        return [];
    }
  }

  #added(item: OutputItem): readonly CompletionChunk[] {
    // The texts of several turns are one message here, so a blank line separates them.
    if (item.type === 'message') return this.#hasText ? [this.#chunk({ content: paragraph })] : [];
    if (item.type !== 'function_call') return [];
    const index = this.#calls.size;
    this.#calls.set(item.id, index);
    const call = { name: item['name'], arguments: '' };
    const id = item['call_id'];
    return [this.#chunk({ tool_calls: [{ index, id, type: 'function', function: call }] })];
  }

  #last(response: ResponseResource): readonly CompletionChunk[] {
    assertAnswered(response);
    const end = this.#chunk({}, finishReason(response));
    if (!this.#options.includesUsage) return [end];
    return [end, { ...this.#head, choices: [], usage: usageOf(response) }];
  }

  #chunk(delta: object, finish_reason: string | null = null): CompletionChunk {
    const choice = { index: 0, delta, logprobs: null, finish_reason };
    const usage = this.#options.includesUsage ? { usage: null } : {};
    return { ...this.#head, object: 'chat.completion.chunk', choices: [choice], ...usage };
  }
}

const paragraph = '\n\n';

/** Returns a finished response as a chat completion. Throws the error of a response that failed. */
export function completionOf(response: ResponseResource, model: string): CompletionChunk {
  assertAnswered(response);
  const calls = response.output.filter(({ type }) => type === 'function_call');
  const texts = response.output.flatMap(({ type, content }) =>
    type === 'message' ? (content as readonly { readonly text: string }[]).map(textOf) : [],
  );
  const reasoning = response.output.flatMap(({ type, summary }) =>
    type === 'reasoning' ? (summary as readonly { readonly text: string }[]).map(textOf) : [],
  );
  const tool_calls = calls.map(({ call_id: id, name, arguments: given }) => ({
    ...{ id, type: 'function', function: { name, arguments: given } },
  }));
  const message = {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(paragraph),
    refusal: null,
    ...(reasoning.length > 0 && { reasoning_content: reasoning.join(paragraph) }),
    ...(calls.length > 0 && { tool_calls }),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(response) };
  const head = headOf(response, model);
  return { ...head, object: 'chat.completion', choices: [choice], usage: usageOf(response) };
}

function textOf({ text }: { readonly text: string }): string {
  return text;
}

function headOf({ id, created_at: created }: ResponseResource, model: string) {
  const key = id.replace(/^resp_/, 'chatcmpl-');
  return { id: key, object: 'chat.completion.chunk', created, model };
}

function finishReason({ output, incomplete_details: why }: ResponseResource): string {
  if (why?.reason === 'content_filter') return 'content_filter';
  if (why !== null) return 'length';
  return output.some(({ type }) => type === 'function_call') ? 'tool_calls' : 'stop';
}

function usageOf({ usage }: ResponseResource) {
  if (usage === null) return null;
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    prompt_tokens_details: usage.input_tokens_details,
    completion_tokens_details: usage.output_tokens_details,
  };
}

/**
 * Throws if the response is not an answer: it failed, it was stopped, or one of its calls needs an approval.
 * The protocol has no form for approvals, so the session waits for an answer from another client.
 */
function assertAnswered(response: ResponseResource): void {
  const { status, error, output } = response;
  if (status === 'failed')
    throw new ServerError(
      'agent_failed',
      error?.message ?? 'The run failed',
      {},
      { details: { reason: error?.code ?? 'server_error' } },
    );
  if (status === 'cancelled')
    throw stopped('The run was stopped before it ended', 'cancelled', response);
  const isAsked = output.some(({ type }) => type === 'mcp_approval_request');
  if (isAsked && status === 'completed' && isWaiting(output))
    throw stopped('A call of the agent needs an approval', 'approval_required', response);
}

/** Returns whether the last item asks for an approval that nobody gave. */
function isWaiting(output: readonly OutputItem[]): boolean {
  return output.at(-1)?.type === 'mcp_approval_request';
}

function stopped(what: string, reason: string, { conversation }: ResponseResource): ServerError {
  const { id } = conversation as { readonly id: string };
  const message = `${what}. Continue in the session ${id}, with the page, the terminal or POST /v1/responses`;
  return new ServerError('bad_state', message, { task: id }, { details: { reason } });
}
