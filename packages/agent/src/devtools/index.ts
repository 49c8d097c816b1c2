export { type AiSdkSessions, aiSdkSessions } from './ai-sdk-sessions.ts';
export type { DevtoolsOptions, TracedRun } from './contract.ts';
export {
  type AgentsSpan,
  type AgentsTrace,
  type OpenaiAgentsSessions,
  openaiAgentsSessions,
} from './openai-agents-sessions.ts';
export { type ExportedSpan, type OtelSessions, otelSessions } from './otel-sessions.ts';
