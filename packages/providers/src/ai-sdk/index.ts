export type { AiSdkModel, ProviderTool } from './model.ts';
export type { AiSdkOptions } from './options.ts';
export { fromAiSdk } from './provider.ts';
