import type { Fact, SessionId, Stop, Usage } from '@millrace/core';
import type { Attributes } from '@opentelemetry/api';

// The names of OpenTelemetry's semantic conventions for generative AI; what those do not name is
// under `millrace.`.

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
    // What it was called until 1.36 of the conventions.
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

/** Well-known names; our ids, and those of the AI SDK, may have a wire's name behind them. */
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
