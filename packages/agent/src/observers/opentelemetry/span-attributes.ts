import type { AgentEvent, Fact, Part, SessionId, Stop, ToolCallId, Usage } from '@millrace/core';
import type { Attributes } from '../../contract/telemetry.ts';

// Attribute names follow OpenTelemetry's semantic conventions for generative AI. Attributes that these
// conventions do not define start with `millrace.`.

type Started = Extract<Fact, { readonly type: 'response_started' }>;
type Execution = Extract<Fact, { readonly type: 'tool_execution_started' }>;

export function ofSession(session: SessionId): Attributes {
  return { 'gen_ai.conversation.id': session };
}

export function ofAgent(agentName: string | undefined): Attributes {
  return {
    'gen_ai.operation.name': 'invoke_agent',
    ...(agentName !== undefined && { 'gen_ai.agent.name': agentName }),
  };
}

export function ofRequest({ provider, model }: Started): Attributes {
  const name = providerName(provider);
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': name,
    // The name of `gen_ai.provider.name` up to version 1.36 of the semantic conventions.
    'gen_ai.system': name,
    'gen_ai.request.model': model,
    'gen_ai.request.stream': true,
  };
}

export function ofExecution({ name, toolCallId, executionId, child }: Execution): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': toolCallId,
    'gen_ai.tool.type': 'function',
    'millrace.execution.id': executionId,
    ...(child !== undefined && { 'millrace.child.session': child }),
  };
}

export function ofCall({ toolCallId }: { readonly toolCallId: string }): Attributes {
  return { 'gen_ai.tool.call.id': toolCallId };
}

export function ofUsage(usage: Usage): Attributes {
  const { input, output, cacheRead, cacheWrite, reasoning, estimated } = usage;
  return {
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    'gen_ai.usage.cache_read.input_tokens': cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': cacheWrite,
    'gen_ai.usage.reasoning.output_tokens': reasoning,
    'millrace.usage.estimated': estimated,
  };
}

export function ofStop({ reason, cause }: Stop): Attributes {
  return {
    'millrace.stop.reason': reason,
    ...(cause !== undefined && { 'millrace.stop.cause': cause }),
  };
}

export function ofResponse({ raw, reason }: Stop): Attributes {
  return { 'gen_ai.response.finish_reasons': [raw ?? reason] };
}

/**
 * The provider names that the conventions define, with patterns for provider ids. A provider id may end with
 * the name of a wire format.
 */
const providerNames: readonly (readonly [RegExp, string])[] = [
  [/^openai(-responses|\.\w+)?$/, 'openai'],
  [/^azure(-responses|-openai\.\w+|\.\w+)?$/, 'azure.ai.openai'],
  [/^anthropic(\.\w+)?$/, 'anthropic'],
  [/^(gemini|google\.generative-ai)$/, 'gcp.gemini'],
  [/^(vertex|google\.vertex\b.*)$/, 'gcp.vertex_ai'],
  [/^(amazon-)?bedrock(\.\w+)?$/, 'aws.bedrock'],
  [/^xai(-responses|\.\w+)?$/, 'x_ai'],
  [/^mistral(\.\w+)?$/, 'mistral_ai'],
  [/^groq(\.\w+)?$/, 'groq'],
  [/^deepseek(\.\w+)?$/, 'deepseek'],
  [/^cohere(\.\w+)?$/, 'cohere'],
  [/^perplexity(\.\w+)?$/, 'perplexity'],
];

function providerName(id: string): string {
  return providerNames.find(([form]) => form.test(id))?.[1] ?? id;
}

/** Maximum length of a text attribute, in characters. Backends refuse spans that are too large. */
const maxLength = 32_768;
const maxParts = 64;

/** A message part in the format of OpenTelemetry's conventions. */
interface MessagePart {
  readonly type: 'text' | 'reasoning' | 'tool_call';
  readonly content?: string;
  readonly [field: string]: unknown;
}

/** Collects the content of a turn for the span attributes. The content is cleared at the end of the turn. */
export class TracedContent {
  /** The parts of each attempt, by part id. */
  readonly #parts = new Map<string, MessagePart>();
  readonly #inputs = new Map<ToolCallId, string>();
  readonly #results = new Map<ToolCallId, string>();

  onEvent(event: AgentEvent): void {
    // Events with turn 0 are user input. It belongs to no attempt, so it is not collected.
    if (event.turn === 0) return;
    switch (event.type) {
      case 'assistant_text_delta':
        return this.#add(event.partId, 'text', event.text);
      case 'reasoning_delta':
        return this.#add(event.partId, 'reasoning', event.text);
      case 'tool_call_ready': {
        const { partId, toolCallId: id, name, input } = event;
        const text = JSON.stringify(input);
        const isShort = text.length <= maxLength;
        const args = isShort ? input : clip(text);
        this.#parts.set(partId, { type: 'tool_call', id, name, arguments: args });
        this.#inputs.set(id, text);
        return;
      }
      case 'part_finished':
        if (event.part !== undefined) this.#replace(event.partId, event.part);
        return;
      case 'part_retracted':
        this.#parts.delete(event.partId);
        return;
      case 'turn_finished':
        return this.#forget(event.turn);
      default:
    }
  }

  ofResponse(turn: number, attempt: number, { reason, raw }: Stop): Attributes {
    const parts = [...this.#parts]
      .filter(([id]) => id.startsWith(`${turn}.${attempt}.`))
      .slice(0, maxParts)
      .map(([, { content, ...part }]) =>
        typeof content === 'string' ? { ...part, content: clip(content) } : part,
      );
    const message = { role: 'assistant', parts, finish_reason: raw ?? reason };
    return { 'gen_ai.output.messages': JSON.stringify([message]) };
  }

  ofInput(id: ToolCallId): Attributes {
    const input = this.#inputs.get(id);
    return input === undefined ? {} : { 'gen_ai.tool.call.arguments': clip(input) };
  }

  ofResult(id: ToolCallId): Attributes {
    const result = this.#results.get(id);
    return result === undefined ? {} : { 'gen_ai.tool.call.result': clip(result) };
  }

  #add(partId: string, type: MessagePart['type'], text: string): void {
    const before = this.#parts.get(partId)?.content ?? '';
    this.#parts.set(partId, { type, content: `${before}${text}` });
  }

  #replace(partId: string, part: Part): void {
    if (part.kind === 'tool_result') this.#results.set(part.toolCallId, part.text);
    if (part.kind === 'text' || part.kind === 'reasoning')
      this.#parts.set(partId, { type: part.kind, content: part.text });
    else this.#parts.delete(partId);
  }

  #forget(turn: number): void {
    this.#inputs.clear();
    this.#results.clear();
    for (const id of this.#parts.keys()) if (id.startsWith(`${turn}.`)) this.#parts.delete(id);
  }
}

function clip(text: string): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`.toWellFormed();
}
