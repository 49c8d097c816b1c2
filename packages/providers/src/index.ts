export type { AnthropicOptions } from './anthropic/anthropic-options.ts';
export { anthropic } from './anthropic/provider.ts';
export { complete } from './contract/complete.ts';
export { createProvider } from './contract/create-provider.ts';
export { describePlainly } from './contract/describe-plainly.ts';
export type { DescribedRequest } from './contract/described-request.ts';
export { type ConcurrencyOptions, limitConcurrency } from './contract/limit-concurrency.ts';
export { mapText } from './contract/map-text.ts';
export type {
  CacheHints,
  ModelRequest,
  OutputSchema,
  ReasoningEffort,
  ToolChoice,
  ToolDefinition,
} from './contract/model-request.ts';
export { moveSteps } from './contract/move-steps.ts';
export type {
  CompleteOptions,
  Completion,
  Provider,
  ResponseEnd,
  Stream,
  StreamContext,
  StreamItem,
  StreamStep,
} from './contract/provider.ts';
export type { PartChange, TextChange } from './contract/text-change.ts';
export { type Wrapper, wrapProvider } from './contract/wrap-provider.ts';
export {
  ProviderError,
  type ProviderErrorDetails,
  type ProviderErrorKind,
  type Retry,
} from './errors/provider-error.ts';
export type { GeminiOptions, VertexOptions } from './gemini/options.ts';
export { gemini, vertex } from './gemini/provider.ts';
export type { IdRule } from './history/tool-call-ids.ts';
export type { ChatDialect, EchoStyle, EffortStyle } from './openai-chat/dialect.ts';
export type { ChatOptions, ChatPreset } from './openai-chat/options.ts';
export { openaiChat } from './openai-chat/provider.ts';
export type {
  ResponsesDialect,
  ResponsesOptions,
  ResponsesPreset,
} from './openai-responses/options.ts';
export { openaiResponses } from './openai-responses/provider.ts';
export { type Clock, systemClock } from './transport/clock.ts';
export type { TimeoutOptions } from './transport/deadlines.ts';
export type { TransportOptions } from './transport/transport-options.ts';
export type { ApiOptions } from './wire/api-options.ts';
export type { Endpoint } from './wire/endpoint.ts';
export type { GivenHeaders } from './wire/merge-headers.ts';
