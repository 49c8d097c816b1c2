import type {
  LanguageModelV2CallOptions,
  LanguageModelV3CallOptions,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  SharedV4FileData,
} from '@ai-sdk/provider';

// Models of earlier versions of the interface are asked in their own words, as far as those go.

/** Version 3 has no `reasoning`, no custom parts, and data without tags. */
export function toV3({
  reasoning: _,
  ...options
}: LanguageModelV4CallOptions): LanguageModelV3CallOptions {
  const prompt = options.prompt.map((message) => lowered(message, v3File));
  return { ...options, prompt } as LanguageModelV3CallOptions;
}

/** Version 2 also names the tools of providers otherwise, and has one kind of file in results. */
export function toV2({
  reasoning: _,
  ...options
}: LanguageModelV4CallOptions): LanguageModelV2CallOptions {
  const prompt = options.prompt.map((message) => lowered(message, v2File));
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

function lowered(message: LanguageModelV4Message, lowerFile: (file: ResultFile) => object): object {
  if (message.role === 'system') return message;
  const content = message.content.flatMap((part): object | readonly object[] => {
    switch (part.type) {
      case 'custom':
      case 'reasoning-file':
        return [];
      case 'file':
        return { ...part, data: bare(part.data) };
      case 'tool-result':
        return { ...part, output: loweredOutput(part.output, lowerFile) };
      default:
        return part;
    }
  });
  return { ...message, content };
}

function loweredOutput(
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
  return { type: `${kind}-data`, data: bare(data), mediaType, ...named };
}

function v2File({ data, mediaType }: ResultFile): object {
  if (data.type === 'url') return { type: 'text', text: String(data.url) };
  return { type: 'media', data: bare(data), mediaType };
}

/** Of the data that we send: base64, or an address. */
function bare(data: SharedV4FileData): Uint8Array | string | URL {
  return data.type === 'url' ? data.url : data.type === 'data' ? data.data : '';
}
