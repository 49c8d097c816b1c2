export type { AiSdkModel, ProviderTool } from './model.ts';
export { type AiSdkOptions, fromAiSdk } from './provider.ts';
