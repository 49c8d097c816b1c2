import type {
  LanguageModelV2,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4ProviderTool,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';

/** A model of any package that implements the AI SDK's interface, of whichever of its versions. */
export type AiSdkModel = LanguageModelV2 | LanguageModelV3 | LanguageModelV4;

/** Something that the provider runs by itself, such as a search. */
export type ProviderTool = Pick<LanguageModelV4ProviderTool, 'id' | 'name' | 'args'>;

/** The versions differ in few of their parts; who reads one of those looks at what is there. */
export type StreamPart =
  | LanguageModelV2StreamPart
  | LanguageModelV3StreamPart
  | LanguageModelV4StreamPart;

export type PartOf<Type extends StreamPart['type']> = Extract<StreamPart, { type: Type }>;

/** What every version answers with. */
export interface StreamResult {
  readonly stream: ReadableStream<StreamPart>;
  readonly response?: { readonly headers?: Readonly<Record<string, string>> } | undefined;
}
