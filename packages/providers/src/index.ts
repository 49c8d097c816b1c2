export type { AnthropicOptions } from './anthropic/options.ts';
export { anthropic } from './anthropic/provider.ts';
export { type AnthropicBedrockOptions, anthropicBedrock } from './clouds/anthropic-bedrock.ts';
export { type AnthropicVertexOptions, anthropicVertex } from './clouds/anthropic-vertex.ts';
export type { AwsCredentials, AwsIdentity } from './clouds/aws-signature.ts';
export type { GoogleAccessToken } from './clouds/google-token.ts';
export type {
  BuiltInTool,
  ComputerInput,
  DeclaredBuiltInTool,
  McpApprovalInput,
  PatchInput,
  ShellInput,
} from './contract/built-in-tool.ts';
export type {
  AnthropicContentOptions,
  ContentOptions,
  GoogleContentOptions,
  OpenaiContentOptions,
} from './contract/content-options.ts';
export type {
  AnthropicTool,
  ChatTool,
  GeminiTool,
  ResponsesTool,
} from './contract/hosted-tools.ts';
export type {
  ModelEffort,
  ModelInfo,
  ModelInput,
  ModelPrices,
  ModelTable,
  TierPrices,
  TokenPrices,
} from './contract/model-info.ts';
export type {
  AnthropicToolOptions,
  CacheHints,
  ModelRequest,
  OpenaiToolOptions,
  OutputSchema,
  ReasoningEffort,
  ToolChoice,
  ToolDefinition,
  ToolProviderOptions,
} from './contract/model-request.ts';
export type {
  CompleteOptions,
  Completion,
  DescribedRequest,
  Provider,
  QueryOptions,
  ResponseEnd,
  Stream,
  StreamContext,
  StreamItem,
  StreamStep,
} from './contract/provider.ts';
export {
  ProviderError,
  type ProviderErrorDetails,
  type ProviderErrorKind,
  type RetryAdvice,
} from './contract/provider-error.ts';
export type { UploadOptions, Uploads } from './contract/uploads.ts';
export { redact as redactKeys, redactStart } from './errors/redact.ts';
export { agentSecretsOf, Redactor } from './errors/redactor.ts';
export type { GeminiOptions, GoogleToolOptions, VertexOptions } from './gemini/options.ts';
export { gemini, vertex } from './gemini/provider.ts';
export { textOfAttachment } from './history/attachment.ts';
export { withContentOptions } from './history/content-options.ts';
export type { ToolCallIdRule } from './history/tool-call-ids.ts';
export type { ModelInfoOptions } from './models/model-info.ts';
export type {
  ChatDialect,
  ChatOptions,
  ChatPreset,
  ReasoningEchoStyle,
  ReasoningEffortStyle,
} from './openai-chat/options.ts';
export { openaiChat } from './openai-chat/provider.ts';
export type {
  ResponsesDialect,
  ResponsesOptions,
  ResponsesPreset,
} from './openai-responses/options.ts';
export { openaiResponses } from './openai-responses/provider.ts';
export { closeParts } from './provider/close-parts.ts';
export { complete } from './provider/complete.ts';
export { createProvider, describeModelRequest } from './provider/create-provider.ts';
export { type ConcurrencyOptions, limitConcurrency } from './provider/limit-concurrency.ts';
export { mapText, type PartTextChange, type TextChange } from './provider/map-text.ts';
export { moveSteps, type ProviderWrapper, wrapProvider } from './provider/wrap-provider.ts';
export { withoutOptionalNulls } from './schema/optional-nulls.ts';
export {
  listedContextTokens,
  readContextWindow,
  type WindowOptions,
  type WindowServer,
} from './tokens/context-window.ts';
export { estimateTokens } from './tokens/estimate-tokens.ts';
export type { JsonTransport } from './tokens/fetch-json.ts';
export { type ContextOptions, limitContext } from './tokens/limit-context.ts';
export { type Clock, systemClock } from './transport/clock.ts';
export type { TimeoutOptions } from './transport/deadlines.ts';
export { IdleLimit } from './transport/idle-limit.ts';
export { ReaderTurns } from './transport/reader-turns.ts';
export { readSseData, type SseDataOptions } from './transport/sse-reader.ts';
export type { TransportOptions } from './transport/transport-options.ts';
export { createUploads } from './uploads/create-uploads.ts';
export type { ApiOptions, HeaderOptions } from './wire/api-options.ts';
export type { Endpoint } from './wire/endpoint.ts';
export {
  type AnswerPiece,
  type BlockContentOptions,
  type BlockVerdict,
  blockContent,
} from './wrappers/block-content.ts';
export {
  type AnswerCacheOptions,
  type AnswerStore,
  cacheAnswers,
  type MemoryAnswerStoreOptions,
  memoryAnswerStore,
} from './wrappers/cache-answers.ts';
export { type FallbackOptions, withFallback } from './wrappers/fallback.ts';
export { type HedgeOptions, hedgeRequests } from './wrappers/hedge.ts';
export {
  logRequests,
  type RequestLogEntry,
  type RequestLogHead,
  type RequestLogOptions,
} from './wrappers/log-requests.ts';
export { type RedactionOptions, type RedactionRule, redactText } from './wrappers/redact-text.ts';
