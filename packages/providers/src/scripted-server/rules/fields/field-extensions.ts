import type { WireName } from '../../answers/wire-answer.ts';

/** A field that compatible servers accept, but that the provider's own SDK does not have. */
export interface FieldExtension {
  /** The name of the shape in the field table of the wire format. */
  readonly shape: string;
  /** The field, in the notation of a `FieldTable`. */
  readonly field: string;
  /** The servers that need the field, and its purpose. */
  readonly why: string;
}

const assistant = 'ChatCompletionAssistantMessageParam';

/**
 * The types of message parts that can have a cache point for Claude. A tool result has its cache point beside
 * its text, so the type of its message is in this list.
 */
const cacheableShapes = [
  'ChatCompletionContentPartText',
  'ChatCompletionContentPartImage',
  'ChatCompletionContentPartInputAudio',
  'File',
  'ChatCompletionToolMessageParam',
];

/** All fields that this package sends, but that the types of the SDKs do not have. */
export const fieldExtensions: Readonly<Record<WireName, readonly FieldExtension[]>> = {
  anthropic: [
    {
      shape: 'Body',
      field: 'temperature?:num',
      why: 'Models before Claude 4.7 take it. The SDK has no field for it any more.',
    },
    {
      shape: 'Body',
      field: 'top_p?:num',
      why: 'Models before Claude 4.7 take it. The SDK has no field for it any more.',
    },
  ],
  gemini: [],
  'openai-responses': [
    {
      shape: 'ResponseOutputMessage',
      field: 'id?:str',
      why: 'OpenAI rejects ids that it did not create, so answers of other models have none.',
    },
    {
      shape: 'ResponseFunctionWebSearch',
      field: 'action?:any',
      why: 'xAI describes its searches with the fields of a call instead.',
    },
    {
      shape: 'ResponseFunctionWebSearch',
      field: 'arguments?:str',
      why: 'xAI sends the query of a search in it, and needs it back.',
    },
    {
      shape: 'ResponseFunctionWebSearch',
      field: 'call_id?:str',
      why: 'xAI sends it with its searches, and needs it back.',
    },
    {
      shape: 'ResponseFunctionWebSearch',
      field: 'name?:str',
      why: 'xAI names the kind of a search in it, and needs it back.',
    },
  ],
  'openai-chat': [
    {
      shape: 'Body',
      field: 'thinking?:any',
      why: 'DeepSeek turns reasoning on and off with it.',
    },
    {
      shape: 'Body',
      field: 'enable_thinking?:bool',
      why: 'Servers of Qwen and z.ai turn reasoning on and off with it.',
    },
    {
      shape: 'Body',
      field: 'reasoning?:any',
      why: 'OpenRouter takes the effort for all models in it.',
    },
    {
      shape: 'Body',
      field: 'session_id?:str',
      why: 'OpenRouter sends requests of one session to the server that has their prefix cached.',
    },
    ...cacheableShapes.map((shape) => ({
      shape,
      field: 'cache_control?:any',
      why: 'OpenRouter and LiteLLM pass it on to Claude, which caches the prefix up to there.',
    })),
    {
      shape: assistant,
      field: 'reasoning_content?:str',
      why: 'DeepSeek, vLLM and llama.cpp need the reasoning of earlier answers back.',
    },
    {
      shape: assistant,
      field: 'reasoning?:str',
      why: 'Ollama and newer vLLM need the reasoning of earlier answers back.',
    },
    {
      shape: assistant,
      field: 'reasoning_text?:str',
      why: 'Some gateways send reasoning in it, and need it back in the same field.',
    },
    {
      shape: assistant,
      field: 'reasoning_details?:any',
      why: 'OpenRouter needs signed and encrypted reasoning back.',
    },
    {
      shape: 'ChatCompletionToolMessageParam',
      field: 'name?:str',
      why: 'Mistral needs the name of the tool with its result.',
    },
    {
      shape: 'ChatCompletionMessageFunctionToolCall',
      field: 'extra_content?:any',
      why: 'Gemini needs the signature of a call back.',
    },
  ],
};
