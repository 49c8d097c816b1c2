import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ProviderTool,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
  SharedV4FileData,
} from '@ai-sdk/provider';
import { fault } from '../errors/wire-fault.ts';

/** A model of any package that implements the AI SDK's interface, version 2, 3 or 4. */
export type AiSdkModel = LanguageModelV2 | LanguageModelV3 | LanguageModelV4;

/** A tool that the provider runs itself, for example a web search. */
export type ProviderTool = Pick<LanguageModelV4ProviderTool, 'id' | 'name' | 'args'>;

/**
 * A stream part of any version. The versions differ in a few types, so the code checks which fields exist.
 */
export type StreamPart =
  | LanguageModelV2StreamPart
  | LanguageModelV3StreamPart
  | LanguageModelV4StreamPart;

export type PartOf<Type extends StreamPart['type']> = Extract<StreamPart, { type: Type }>;

/** The fields that the result of `doStream` has in all versions. */
export interface StreamResult {
  readonly stream: ReadableStream<StreamPart>;
  readonly response?: { readonly headers?: Readonly<Record<string, string>> } | undefined;
}

/** Calls a model that implements any supported version of the AI SDK's interface (2, 3 or 4). */
export async function callModel(
  model: AiSdkModel,
  options: LanguageModelV4CallOptions,
): Promise<StreamResult> {
  switch (model.specificationVersion) {
    case 'v4':
      return model.doStream(options);
    case 'v3':
      return model.doStream(toV3(options));
    case 'v2':
      return model.doStream(toV2(options));
    default: {
      const { specificationVersion } = model as { readonly specificationVersion: unknown };
      const found = `the model implements version ${String(specificationVersion)} of the interface`;
      throw fault('invalid_request', `${found}; use a package that implements v2, v3 or v4`);
    }
  }
}

// The functions below convert a request to earlier versions of the interface. They omit data that an earlier
// version cannot express.

/**
 * Converts options to version 3, which has no `reasoning` and no custom parts, and whose file data
 * has no tag.
 */
function toV3({
  reasoning: _,
  ...options
}: LanguageModelV4CallOptions): LanguageModelV3CallOptions {
  const prompt = options.prompt.map((message) => downgradeMessage(message, v3File));
  return { ...options, prompt } as LanguageModelV3CallOptions;
}

/**
 * Converts options to version 2. Version 2 has a different type for provider tools, and supports only one
 * kind of file in results.
 */
function toV2({
  reasoning: _,
  ...options
}: LanguageModelV4CallOptions): LanguageModelV2CallOptions {
  const prompt = options.prompt.map((message) => downgradeMessage(message, v2File));
  const tools = options.tools?.map((tool) =>
    tool.type === 'provider' ? { ...tool, type: 'provider-defined' } : withoutStrict(tool),
  );
  return { ...options, prompt, ...(tools && { tools }) } as LanguageModelV2CallOptions;
}

function withoutStrict({ strict: _, ...tool }: { readonly strict?: boolean }) {
  return tool;
}

type ResultFile = Extract<
  Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number],
  { type: 'file' }
>;

function downgradeMessage(
  message: LanguageModelV4Message,
  lowerFile: (file: ResultFile) => object,
): object {
  if (message.role === 'system') return message;
  const content = message.content.flatMap((part): object | readonly object[] => {
    switch (part.type) {
      case 'custom':
      case 'reasoning-file':
        return [];
      case 'file':
        return { ...part, data: untaggedData(part.data) };
      case 'tool-result':
        return { ...part, output: downgradeOutput(part.output, lowerFile) };
      default:
        return part;
    }
  });
  return { ...message, content };
}

function downgradeOutput(
  output: LanguageModelV4ToolResultOutput,
  lowerFile: (file: ResultFile) => object,
): object {
  if (output.type !== 'content') return output;
  const value = output.value.map((part) => (part.type === 'file' ? lowerFile(part) : part));
  return { ...output, value };
}

function v3File({ data, mediaType, filename }: ResultFile): object {
  const kind = mediaType.startsWith('image/') ? 'image' : 'file';
  if (data.type === 'url') return { type: `${kind}-url`, url: String(data.url) };
  const named = filename === undefined || kind === 'image' ? {} : { filename };
  return { type: `${kind}-data`, data: untaggedData(data), mediaType, ...named };
}

function v2File({ data, mediaType }: ResultFile): object {
  if (data.type === 'url') return { type: 'text', text: String(data.url) };
  return { type: 'media', data: untaggedData(data), mediaType };
}

/** Returns the content of tagged file data, as bytes, base64 or a URL. */
function untaggedData(data: SharedV4FileData): Uint8Array | string | URL {
  return data.type === 'url' ? data.url : data.type === 'data' ? data.data : '';
}
