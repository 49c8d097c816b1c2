import type { ApiOptions } from '../wire/api-options.ts';
import type { ChatDialect } from './dialect.ts';

export interface ChatOptions extends ApiOptions {
  /** Whose server it is: OpenAI's unless told, and `compatible` where only a base URL is given. */
  readonly preset?: ChatPreset | undefined;
  /** Where the server differs from its preset. */
  readonly dialect?: Partial<ChatDialect> | undefined;
}

export type ChatPreset =
  | 'compatible'
  | 'openai'
  | 'openrouter'
  | 'azure'
  | 'groq'
  | 'mistral'
  | 'deepseek'
  | 'xai'
  | 'together'
  | 'ollama'
  | 'vllm'
  | 'llama.cpp'
  | 'lm-studio'
  | 'litellm';
